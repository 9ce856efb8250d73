-- The entries of these operations, where they exist, each with the server's time ($4 in its place where it is given).
SELECT
    {operation: o.@},
    coalesce($4, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
LEFT JOIN onefold_operations AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
