-- Unknown operations whose question is due, of the kinds that can be asked about here.
SELECT
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at,
    unknown_since, next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref,
    evidence_ref, error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by,
    incident_id, updated_at, completed_at
FROM onefold_operations
WHERE next_ask_at IS NOT NULL AND next_ask_at <= $1 AND status = 'UNKNOWN' AND kind = ANY ($2::text[])
ORDER BY next_ask_at LIMIT $3
