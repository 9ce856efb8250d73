-- What else time has passed by: retries and questions that nobody makes. Each arm reads a partial index in which
-- settled operations do not stand.
(
    SELECT tenant, kind, operation_id FROM onefold_operations
    WHERE escalate_at IS NOT NULL AND escalate_at <= $1
    ORDER BY escalate_at LIMIT $3
)
UNION
(
    SELECT tenant, kind, operation_id FROM onefold_operations
    WHERE next_ask_at IS NOT NULL AND next_ask_at <= $2
    ORDER BY next_ask_at LIMIT $3
)
LIMIT $3
