-- Forgets the closed incidents of operations.
DELETE FROM onefold_incidents AS o
USING unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
WHERE o.subject_id = k.operation_id AND o.kind = k.kind AND o.subject = 'OPERATION' AND o.tenant = k.tenant
    AND o.closed_at IS NOT NULL
