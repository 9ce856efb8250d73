-- Raises the highest time seen.
UPDATE onefold_clock SET highest = ?1 WHERE id = 1 AND highest < ?1
