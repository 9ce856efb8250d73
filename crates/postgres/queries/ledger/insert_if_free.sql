-- The same, without the operations that somebody's own transaction is at (try_lock.sql).
WITH clock AS MATERIALIZED (
    SELECT coalesce($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now, set_config('lock_timeout', '2s', true)
)
INSERT INTO onefold_operations (
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, asks, side_effect_status, updated_at
)
SELECT
    r.tenant, r.kind, r.operation_id, r.fingerprint, r.fingerprint_mode, r.fingerprint_key_id, r.source,
    r.business_key, r.correlation_id, r.process_id, r.definition_key, r.definition_version,
    r.process_instance_key, r.element_id, r.job_key, r.created_at + clock.now, r.status, r.class, r.policy,
    r.fence, r.attempt_id, r.installation, r.worker, r.deadline + clock.now, r.lease_until + clock.now,
    r.attempts, r.first_attempt_at + clock.now, r.attempt_started_at + clock.now, r.asks,
    r.side_effect_status, r.updated_at + clock.now
FROM clock, unnest(
    $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::bigint[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],
    $17::bigint[], $18::text[], $19::text[], $20::text[], $21::bigint[], $22::bytea[], $23::text[],
    $24::text[], $25::bigint[], $26::bigint[], $27::bigint[], $28::bigint[], $29::bigint[], $30::bigint[],
    $31::text[], $32::bigint[]
) AS r (
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, asks, side_effect_status, updated_at
)
WHERE pg_try_advisory_xact_lock_shared(
    hashtextextended(r.operation_id || chr(10) || r.kind || chr(10) || r.tenant, 'onefold_operations'::regclass::oid::bigint)
)
ON CONFLICT (operation_id, kind, tenant) DO NOTHING
RETURNING tenant, kind, operation_id, created_at
