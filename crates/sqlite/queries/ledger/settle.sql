-- An operation that its holder completed: what differs from the grant, and nothing else. It writes
-- only if the row still is the grant that the decision was made on.
UPDATE onefold_operations SET
    status = ?4, class = ?5, policy = ?6, result = ?7, result_type = ?8, result_bytes = ?9, result_digest = ?10,
    result_ref = ?11, evidence_ref = ?12, side_effect_status = ?13, recorded = ?14, settled_by = ?15,
    updated_at = ?16, completed_at = ?17
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
    AND status = 'STARTED' AND fence = ?18 AND attempt_id = ?19 AND incident_id IS NULL
