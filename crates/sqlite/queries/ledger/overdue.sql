-- What time has passed by: silent holders, retries and questions that nobody makes.
-- Each arm reads a partial index in which settled operations do not stand. ?4 is a JSON object of the
-- known kinds' clock slacks in microseconds, ?5 the slack of all others.
SELECT * FROM (
SELECT
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at, unknown_since,
    next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref, evidence_ref,
    error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by, incident_id,
    updated_at, completed_at
FROM onefold_operations INDEXED BY onefold_operations_lease
WHERE status = 'STARTED' AND lease_until <= ?1
    AND lease_until + coalesce((SELECT value FROM json_each(?4) WHERE key = kind), ?5) <= ?1
ORDER BY lease_until LIMIT ?3
)
UNION ALL
SELECT * FROM (
SELECT
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at, unknown_since,
    next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref, evidence_ref,
    error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by, incident_id,
    updated_at, completed_at
FROM onefold_operations INDEXED BY onefold_operations_escalate
WHERE escalate_at IS NOT NULL AND escalate_at <= ?1
ORDER BY escalate_at LIMIT ?3
)
UNION ALL
SELECT * FROM (
SELECT
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at, unknown_since,
    next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref, evidence_ref,
    error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by, incident_id,
    updated_at, completed_at
FROM onefold_operations INDEXED BY onefold_operations_ask
WHERE next_ask_at IS NOT NULL AND next_ask_at <= ?2
ORDER BY next_ask_at LIMIT ?3
)
LIMIT ?3
