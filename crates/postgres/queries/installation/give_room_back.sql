-- Gives it back.
DELETE FROM onefold_room WHERE id = $1
