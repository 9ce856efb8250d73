-- What was said of these operations.
SELECT {note: o.@}
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
JOIN onefold_notes AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
ORDER BY o.seq
