-- What each relay that has set an event aside says about it.
SELECT
    a.relay, a.event_id::text AS event_id, a.seq, a.lane, a.tenant, a.aggregate_type, a.aggregate_id, a.status, a.attempts,
    a.next_attempt_at, a.tried_until, a.error_code, a.reason, a.payload AS edited_payload,
    a.content_type AS edited_content_type, a.old_digest
FROM onefold_events_aside AS a
WHERE a.event_id = $1::text::uuid
ORDER BY a.relay
