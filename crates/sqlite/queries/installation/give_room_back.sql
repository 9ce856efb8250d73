-- Gives it back.
DELETE FROM onefold_room
