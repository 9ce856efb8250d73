-- The past attempts of one operation.
SELECT
    tenant, kind, operation_id, fence, attempt_id, worker, started_at, deadline, last_alive_at, ended_at,
    ending, status, error_code, category, side_effect_status, recorded, evidence_ref
FROM onefold_attempts
WHERE tenant = $1 AND kind = $2 AND operation_id = $3
ORDER BY fence
