-- The same rows, locked in one order. The clock is read behind each lock: a statement that waited must not
-- grant a lease that is over.
WITH locked AS MATERIALIZED (
    SELECT
        o.tenant, o.kind, o.operation_id, o.fingerprint, o.fingerprint_mode, o.fingerprint_key_id, o.source,
        o.business_key, o.correlation_id, o.process_id, o.definition_key, o.definition_version,
        o.process_instance_key, o.element_id, o.job_key, o.created_at, o.status, o.class, o.policy, o.fence,
        o.attempt_id, o.installation, o.worker, o.deadline, o.lease_until, o.attempts, o.first_attempt_at,
        o.attempt_started_at, o.next_attempt_at, o.escalate_at, o.unknown_since, o.next_ask_at, o.asks,
        o.result, o.result_type, o.result_bytes, o.result_digest, o.result_ref, o.evidence_ref,
        o.error_code, o.category, o.dependency, o.side_effect_status, o.recorded, o.settled_by,
        o.approved_by, o.incident_id, o.updated_at, o.completed_at
    FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
    JOIN onefold_operations AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
    ORDER BY o.tenant, o.kind, o.operation_id
    FOR UPDATE OF o
)
SELECT locked.*, coalesce($4, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) FROM locked
