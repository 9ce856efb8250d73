-- The closed incidents of these operations, the oldest first.
SELECT o.body FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
JOIN onefold_incidents AS o
    ON o.subject_id = k.operation_id AND o.kind = k.kind AND o.subject = 'OPERATION' AND o.tenant = k.tenant
WHERE o.closed_at IS NOT NULL
ORDER BY o.seq
