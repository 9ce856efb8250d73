-- The same rows, locked in one order. The clock is read behind each lock: a statement that waited must not
-- grant a lease that is over.
WITH locked AS MATERIALIZED (
    SELECT {operation: o.@}
    FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
    JOIN onefold_operations AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
    ORDER BY o.tenant, o.kind, o.operation_id
    FOR UPDATE OF o
)
SELECT locked.*, coalesce($4, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) FROM locked
