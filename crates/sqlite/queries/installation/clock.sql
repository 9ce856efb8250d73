-- The highest time anyone has seen.
SELECT highest FROM onefold_clock WHERE id = 1
