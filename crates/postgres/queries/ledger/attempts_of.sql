-- The past attempts of these operations.
SELECT
    o.tenant, o.kind, o.operation_id, o.fence, o.attempt_id, o.worker, o.started_at, o.deadline, o.last_alive_at,
    o.ended_at, o.ending, o.status, o.error_code, o.category, o.side_effect_status, o.recorded, o.evidence_ref
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
JOIN onefold_attempts AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
ORDER BY o.fence
