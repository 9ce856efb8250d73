-- The same, without the operations that somebody's own transaction is at (try_lock.sql).
WITH clock AS MATERIALIZED (
    SELECT coalesce($50, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now, set_config('lock_timeout', '2s', true)
)
INSERT INTO onefold_operations (
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at,
    unknown_since, next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref,
    evidence_ref, error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by,
    incident_id, updated_at, completed_at
)
SELECT
    r.tenant, r.kind, r.operation_id, r.fingerprint, r.fingerprint_mode, r.fingerprint_key_id, r.source,
    r.business_key, r.correlation_id, r.process_id, r.definition_key, r.definition_version,
    r.process_instance_key, r.element_id, r.job_key, r.created_at + clock.now, r.status, r.class, r.policy,
    r.fence, r.attempt_id, r.installation, r.worker, r.deadline + clock.now, r.lease_until + clock.now,
    r.attempts, r.first_attempt_at + clock.now, r.attempt_started_at + clock.now, r.next_attempt_at,
    r.escalate_at, r.unknown_since, r.next_ask_at, r.asks, r.result, r.result_type, r.result_bytes,
    r.result_digest, r.result_ref, r.evidence_ref, r.error_code, r.category, r.dependency,
    r.side_effect_status, r.recorded, r.settled_by, r.approved_by, r.incident_id, r.updated_at + clock.now,
    r.completed_at
FROM clock, unnest(
    $1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[],
    $17::text[], $18::text[], $19::text[], $20::bigint[], $21::bytea[], $22::text[], $23::text[],
    $24::bigint[], $25::bigint[], $26::bigint[], $27::bigint[], $28::bigint[], $29::bigint[], $30::bigint[],
    $31::bigint[], $32::bigint[], $33::bigint[], $34::bytea[], $35::text[], $36::bigint[], $37::bytea[],
    $38::text[], $39::text[], $40::text[], $41::text[], $42::text[], $43::text[], $44::bytea[], $45::text[],
    $46::text[], $47::text[], $48::bigint[], $49::bigint[]
) AS r (
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at,
    unknown_since, next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref,
    evidence_ref, error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by,
    incident_id, updated_at, completed_at
)
WHERE pg_try_advisory_xact_lock_shared(
    hashtextextended(r.operation_id || chr(10) || r.kind || chr(10) || r.tenant, 'onefold_operations'::regclass::oid::bigint)
)
ON CONFLICT (operation_id, kind, tenant) DO NOTHING
RETURNING tenant, kind, operation_id, created_at
