-- What time has passed by: silent holders, retries and questions that nobody makes. Each arm reads a partial
-- index in which settled operations do not stand. $4 and $5 are the known kinds and their clock slacks in
-- microseconds, $6 the slack of all others.
(
    SELECT tenant, kind, operation_id FROM onefold_operations
    WHERE status = 'STARTED' AND lease_until <= $1
        AND lease_until + coalesce(
            (SELECT s.slack FROM unnest($4::text[], $5::bigint[]) AS s (kind, slack) WHERE s.kind = onefold_operations.kind), $6
        ) <= $1
    ORDER BY lease_until LIMIT $3
)
UNION
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
