-- The same as insert_if_absent.sql for one operation, where the statement may have a name and keeps its plan.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now, set_config('lock_timeout', '250ms', true)
)
INSERT INTO onefold_operations (
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, asks, side_effect_status, updated_at
)
SELECT
    $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17 + clock.now, $18, $19, $20, $21,
    $22, $23, $24, $25 + clock.now, $26 + clock.now, $27, $28 + clock.now, $29 + clock.now, $30, $31, $32 +
    clock.now
FROM clock
ON CONFLICT (operation_id, kind, tenant) DO NOTHING
RETURNING tenant, kind, operation_id, created_at
