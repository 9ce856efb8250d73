SELECT
    relay, event_id, seq, lane, tenant, aggregate_type, aggregate_id, status, attempts, next_attempt_at, tried_until,
    error_code, reason, payload, content_type, old_digest
FROM onefold_events_aside
WHERE event_id = ?1
ORDER BY relay
