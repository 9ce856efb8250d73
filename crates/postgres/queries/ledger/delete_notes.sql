-- Forgets the notes of operations.
DELETE FROM onefold_notes AS o
USING unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
WHERE o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
