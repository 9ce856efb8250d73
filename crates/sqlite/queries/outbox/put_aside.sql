-- An event that is set aside, as it is now.
INSERT INTO onefold_events_aside (
    relay, event_id, seq, lane, tenant, aggregate_type, aggregate_id, status, attempts, next_attempt_at, tried_until,
    error_code, reason, payload, content_type, old_digest
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
ON CONFLICT (relay, event_id) DO UPDATE SET
    status = excluded.status,
    attempts = excluded.attempts,
    next_attempt_at = excluded.next_attempt_at,
    tried_until = excluded.tried_until,
    error_code = excluded.error_code,
    reason = excluded.reason,
    payload = excluded.payload,
    content_type = excluded.content_type,
    old_digest = excluded.old_digest
