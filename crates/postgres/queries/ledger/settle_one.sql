-- The same as settle.sql for one operation, where the statement may have a name and keeps its plan.
UPDATE onefold_operations SET
    status = $4, class = $5, policy = $6, result = $7, result_type = $8, result_bytes = $9, result_digest =
    $10, result_ref = $11, evidence_ref = $12, side_effect_status = $13, recorded = $14, settled_by = $15,
    updated_at = $16, completed_at = $17
WHERE operation_id = $3 AND kind = $2 AND tenant = $1
    AND status || '' = 'STARTED' AND fence = $18 AND attempt_id = $19 AND incident_id IS NULL
RETURNING tenant, kind, operation_id
