-- Events beyond a relay's place, by type, and when the first of each was staged.
SELECT e.event_type, count(*) AS waiting, min(e.created_at) AS oldest
FROM onefold_relay_lanes l
JOIN onefold_events e ON e.seq > max(l.since, l.pos)
WHERE l.relay = ?1
GROUP BY e.event_type
