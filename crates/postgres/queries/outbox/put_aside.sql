-- Events that are set aside, as pages left them. What ended stays as it is, and so does what a person put in place of a
-- payload.
INSERT INTO onefold_events_aside AS a (
    relay, event_id, seq, lane, tenant, aggregate_type, aggregate_id, status, attempts, next_attempt_at, tried_until,
    error_code, reason, changed_at
)
SELECT
    $1::text, n.id::uuid, n.seq, n.lane, n.tenant, n.aggregate_type, n.aggregate_id, n.status, n.attempts,
    n.next_attempt_at, n.tried_until, n.error_code, n.reason, $2::bigint
FROM unnest(
    $3::text[], $4::bigint[], $5::smallint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
    $11::bigint[], $12::bigint[], $13::text[], $14::text[]
) AS n (
    id, seq, lane, tenant, aggregate_type, aggregate_id, status, attempts, next_attempt_at, tried_until, error_code,
    reason
)
ORDER BY n.seq
ON CONFLICT (relay, event_id) DO UPDATE SET
    status = excluded.status,
    attempts = excluded.attempts,
    next_attempt_at = excluded.next_attempt_at,
    tried_until = excluded.tried_until,
    error_code = excluded.error_code,
    reason = excluded.reason,
    changed_at = excluded.changed_at
WHERE a.status IN ('WAITING', 'BEHIND', 'PARKED')
