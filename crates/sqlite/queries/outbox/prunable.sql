-- The oldest events that may go: staged before a time, and passed by every relay that is not retired, unless it is set
-- aside there. What a relay does not want holds nothing back once its cursor is past it.
SELECT e.seq
FROM onefold_events e
WHERE e.created_at < ?1
    AND e.seq <= (
        SELECT coalesce(min(max(l.since, l.pos)), 9223372036854775807)
        FROM onefold_relay_lanes l
        JOIN onefold_relays r ON r.name = l.relay AND r.retired_at IS NULL
    )
    AND NOT EXISTS (
        SELECT 1
        FROM onefold_events_aside a
        JOIN onefold_relays r ON r.name = a.relay AND r.retired_at IS NULL
        WHERE a.seq = e.seq AND a.status IN ('WAITING', 'BEHIND', 'PARKED')
    )
ORDER BY e.seq
LIMIT ?2
