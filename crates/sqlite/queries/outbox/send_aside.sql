-- An event that was set aside is sent again, unless it moved on since it was looked for.
UPDATE onefold_events_aside
SET tried_until = (
    SELECT l.lease_until
    FROM onefold_relay_lanes l
    WHERE l.relay = onefold_events_aside.relay AND l.lane = onefold_events_aside.lane
)
WHERE relay = ?1 AND event_id = ?2 AND status = ?3 AND attempts = ?4
