-- Operations of a kind whose id may be forgotten. What is open, or has an open incident, never is.
SELECT
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at,
    unknown_since, next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref,
    evidence_ref, error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by,
    incident_id, updated_at, completed_at
FROM onefold_operations
WHERE kind = $1 AND completed_at IS NOT NULL AND completed_at <= $2
    AND status IN ('COMPLETED', 'FAILED_FINAL') AND incident_id IS NULL
ORDER BY completed_at LIMIT $3
