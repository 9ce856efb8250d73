-- Grants operations unless there is one under their key: all that SQL knows of the rule. Each parameter but the
-- first is a column; that is the time to count from, or NULL for the server's.
SELECT * FROM onefold_claim(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
    $23, $24, $25, $26, $27, $28, $29, $30, $31, $32
)
