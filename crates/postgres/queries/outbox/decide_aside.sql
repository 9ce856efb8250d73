-- What a person decided about an event that is set aside.
UPDATE onefold_events_aside
SET
    status = $3,
    attempts = $4,
    next_attempt_at = $5,
    payload = $6,
    content_type = $7,
    old_digest = $8,
    changed_at = $9
WHERE relay = $1 AND event_id = $2::text::uuid
