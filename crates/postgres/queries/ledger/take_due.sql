-- Takes questions that are due, without those that another server takes: nobody else is given them before $4. The
-- time that each was due at stands behind its columns.
WITH taken AS MATERIALIZED (
    SELECT tenant, kind, operation_id, next_ask_at FROM onefold_operations
    WHERE next_ask_at IS NOT NULL AND next_ask_at <= $1 AND status = 'UNKNOWN' AND kind = ANY ($2::text[])
    ORDER BY next_ask_at LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE onefold_operations AS o SET next_ask_at = $4
FROM taken
WHERE o.operation_id = taken.operation_id AND o.kind = taken.kind AND o.tenant = taken.tenant
RETURNING {operation: o.@}, taken.next_ask_at
