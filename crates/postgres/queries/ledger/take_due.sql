-- Takes questions that are due, without those that another server takes: nobody else is given them before $4.
WITH taken AS MATERIALIZED (
    SELECT tenant, kind, operation_id, next_ask_at FROM onefold_operations
    WHERE next_ask_at IS NOT NULL AND next_ask_at <= $1 AND status = 'UNKNOWN' AND kind = ANY ($2::text[])
    ORDER BY next_ask_at LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE onefold_operations AS o SET next_ask_at = $4
FROM taken
WHERE o.operation_id = taken.operation_id AND o.kind = taken.kind AND o.tenant = taken.tenant
RETURNING
    o.tenant, o.kind, o.operation_id, o.fingerprint, o.fingerprint_mode, o.fingerprint_key_id, o.source,
    o.business_key, o.correlation_id, o.process_id, o.definition_key, o.definition_version,
    o.process_instance_key, o.element_id, o.job_key, o.created_at, o.status, o.class, o.policy, o.fence,
    o.attempt_id, o.installation, o.worker, o.deadline, o.lease_until, o.attempts, o.first_attempt_at,
    o.attempt_started_at, o.next_attempt_at, o.escalate_at, o.unknown_since, taken.next_ask_at, o.asks,
    o.result, o.result_type, o.result_bytes, o.result_digest, o.result_ref, o.evidence_ref, o.error_code,
    o.category, o.dependency, o.side_effect_status, o.recorded, o.settled_by, o.approved_by, o.incident_id,
    o.updated_at, o.completed_at
