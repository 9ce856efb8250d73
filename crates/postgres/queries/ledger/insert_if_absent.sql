-- Grants operations unless there is one under their key: all that SQL knows of the rule. Each parameter but the
-- first is a column; that is the time to count from, or NULL for the server's.
SELECT * FROM onefold_claim_{version}($1, {operation.granted from 2: $#})
