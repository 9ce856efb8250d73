-- What was said of these operations, each with the number of its operation in the list.
SELECT o.at, o.who, o.what, o.why, o.fence, k.number
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, kind, operation_id, number)
JOIN onefold_notes AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
ORDER BY o.seq
