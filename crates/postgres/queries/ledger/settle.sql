-- Completes what its holders were granted, where the rows still are those grants; each parameter is a column.
SELECT * FROM onefold_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
