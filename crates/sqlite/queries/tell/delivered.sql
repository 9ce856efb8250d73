-- An announcement was delivered.
UPDATE onefold_told SET delivered = 1 WHERE sink = ?1 AND announcement = ?2
