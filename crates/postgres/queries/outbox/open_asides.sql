-- Events that were set aside and have not ended, the oldest first.
SELECT
    a.relay, a.event_id::text AS event_id, a.seq, a.lane, a.tenant, a.aggregate_type, a.aggregate_id, a.status, a.attempts,
    a.next_attempt_at, a.tried_until, a.error_code, a.reason, a.payload AS edited_payload,
    a.content_type AS edited_content_type, a.old_digest
FROM onefold_events_aside AS a
WHERE
    a.status IN ('WAITING', 'BEHIND', 'PARKED') AND ($1::text IS NULL OR a.relay = $1)
    AND ($2::text IS NULL OR a.tenant = $2)
ORDER BY a.seq, a.relay
LIMIT $3
