-- The same, without the operations that somebody's own transaction is at (try_lock.sql).
WITH clock AS MATERIALIZED (
    SELECT coalesce($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now, set_config('lock_timeout', '2s', true)
), granted AS (
    INSERT INTO onefold_operations ({operation.granted})
    SELECT {operation.granted: r.@ | r.@ + clock.now}
    FROM clock, unnest({operation.granted from 2: $#::&[]}) AS r ({operation.granted})
    WHERE pg_try_advisory_xact_lock_shared(
        hashtextextended(r.operation_id || chr(10) || r.kind || chr(10) || r.tenant, 'onefold_operations'::regclass::oid::bigint)
    )
    ON CONFLICT (operation_id, kind, tenant) DO NOTHING
    RETURNING tenant, kind, operation_id, created_at, seq, lease_until
), leased AS (
    INSERT INTO onefold_leases (due_at, seqs)
    SELECT min(lease_until), array_agg(seq) FROM granted HAVING count(*) > 0
)
SELECT tenant, kind, operation_id, created_at FROM granted
