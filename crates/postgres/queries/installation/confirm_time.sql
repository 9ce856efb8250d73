-- Remembers the time that was confirmed, and a later one that was not.
UPDATE onefold_clock SET confirmed = $1, candidate = $2 WHERE id = 1
