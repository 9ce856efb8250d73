-- The same as insert_if_absent.sql for one operation, where the statement may have a name and keeps its plan.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now, set_config('lock_timeout', '250ms', true)
), granted AS (
    INSERT INTO onefold_operations ({operation.granted})
    SELECT {operation.granted from 2: $# | $# + clock.now}
    FROM clock
    ON CONFLICT (operation_id, kind, tenant) DO NOTHING
    RETURNING tenant, kind, operation_id, created_at, seq, lease_until
), leased AS (
    INSERT INTO onefold_leases (due_at, seqs) SELECT lease_until, ARRAY[seq] FROM granted
)
SELECT tenant, kind, operation_id, created_at FROM granted
