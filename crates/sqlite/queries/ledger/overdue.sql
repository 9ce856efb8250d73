-- What time has passed by: silent holders, retries and questions that nobody makes.
-- Each arm reads a partial index in which settled operations do not stand. ?4 is a JSON object of the
-- known kinds' clock slacks in microseconds, ?5 the slack of all others.
SELECT * FROM (
SELECT {operation}
FROM onefold_operations INDEXED BY onefold_operations_lease
WHERE status = 'STARTED' AND lease_until <= ?1
    AND lease_until + coalesce((SELECT value FROM json_each(?4) WHERE key = kind), ?5) <= ?1
ORDER BY lease_until LIMIT ?3
)
UNION ALL
SELECT * FROM (
SELECT {operation}
FROM onefold_operations INDEXED BY onefold_operations_escalate
WHERE escalate_at IS NOT NULL AND escalate_at <= ?1
ORDER BY escalate_at LIMIT ?3
)
UNION ALL
SELECT * FROM (
SELECT {operation}
FROM onefold_operations INDEXED BY onefold_operations_ask
WHERE next_ask_at IS NOT NULL AND next_ask_at <= ?2
ORDER BY next_ask_at LIMIT ?3
)
LIMIT ?3
