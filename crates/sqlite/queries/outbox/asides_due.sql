-- Events that were set aside and may be tried now, and those that follow them: all of an aggregate whose first one may be.
SELECT
    a.relay, a.event_id, a.seq, a.lane, a.tenant, a.aggregate_type, a.aggregate_id, a.status, a.attempts,
    a.next_attempt_at, a.tried_until, a.error_code, a.reason, a.payload, a.content_type, a.old_digest
FROM onefold_events_aside a
WHERE a.relay = ?1
    AND a.lane = ?2
    AND a.status IN ('WAITING', 'BEHIND')
    AND NOT EXISTS (
        SELECT 1
        FROM onefold_events_aside b
        WHERE b.relay = a.relay
            AND b.lane = a.lane
            AND b.aggregate_type = a.aggregate_type
            AND b.aggregate_id = a.aggregate_id
            AND b.tenant = a.tenant
            AND b.seq <= a.seq
            AND b.status IN ('WAITING', 'BEHIND', 'PARKED')
            AND (b.status = 'PARKED' OR b.next_attempt_at > ?3)
    )
ORDER BY a.seq
LIMIT ?4
