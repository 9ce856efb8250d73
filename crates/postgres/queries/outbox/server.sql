-- What a relay must know of the server: whether it is a standby, whether numbers are handed out in advance, which
-- system it is, what is committed now, and its time.
SELECT
    pg_is_in_recovery() AS in_recovery,
    (
        SELECT s.seqcache FROM pg_sequence AS s
        WHERE s.seqrelid = pg_get_serial_sequence('onefold_events', 'seq')::regclass
    ) AS sequence_cache,
    (SELECT system_identifier::text FROM pg_control_system()) AS system_id,
    pg_current_snapshot()::text AS seen,
    coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
