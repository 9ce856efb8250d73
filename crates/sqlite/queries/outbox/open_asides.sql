SELECT
    relay, event_id, seq, lane, tenant, aggregate_type, aggregate_id, status, attempts, next_attempt_at, tried_until,
    error_code, reason, payload, content_type, old_digest
FROM onefold_events_aside
WHERE status IN ('WAITING', 'BEHIND', 'PARKED') AND (?1 IS NULL OR relay = ?1) AND (?2 IS NULL OR tenant = ?2)
ORDER BY seq, relay
LIMIT ?3
