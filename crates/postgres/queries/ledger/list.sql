-- Operations, newest first: walked by their sequence, so that a page stops when it is full.
SELECT
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at,
    unknown_since, next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref,
    evidence_ref, error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by,
    incident_id, updated_at, completed_at, seq
FROM onefold_operations
WHERE tenant = $1
    AND ($4::text IS NULL OR business_key = $4)
    AND ($5::text IS NULL OR process_instance_key = $5)
    AND ($2::text IS NULL OR kind = $2)
    AND ($3::text IS NULL OR status = $3)
    AND ($6::text IS NULL OR error_code = $6)
    AND ($11::text IS NULL OR operation_id = $11)
    AND ($7::bigint IS NULL OR created_at >= $7)
    AND ($8::bigint IS NULL OR created_at < $8)
    AND seq < coalesce($9, 9223372036854775807)
ORDER BY seq DESC LIMIT $10
