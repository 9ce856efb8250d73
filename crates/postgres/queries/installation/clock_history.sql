-- The time that was confirmed last, and a later one that was not.
SELECT confirmed, candidate FROM onefold_clock WHERE id = 1
