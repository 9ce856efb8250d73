-- Events between two places that a relay wants and has passed, within a replay's filter; what a person edited, as edited.
SELECT
    e.seq, e.id, e.tenant, e.aggregate_type, e.aggregate_id, e.event_type, e.schema_version, e.created_at,
    coalesce(a.payload, e.payload) AS payload, coalesce(a.content_type, e.content_type) AS content_type, e.headers,
    e.correlation_id
FROM onefold_relays r
JOIN onefold_relay_lanes l ON l.relay = r.name AND l.lane = 0
JOIN onefold_events e ON e.seq > ?2 AND e.seq <= ?3 AND e.seq <= max(l.since, l.pos)
LEFT JOIN onefold_events_aside a ON a.relay = r.name AND a.event_id = e.id
WHERE r.name = ?1
    AND e.tenant = ?4
    AND (?5 IS NULL OR e.event_type = ?5)
    AND (?6 IS NULL OR e.created_at >= ?6)
    AND (?7 IS NULL OR e.created_at < ?7)
    AND (?8 IS NULL OR e.aggregate_type = ?8)
    AND (?9 IS NULL OR e.aggregate_id = ?9)
    AND (a.status IS NULL OR a.status IN ('PUBLISHED', 'SKIPPED'))
    AND EXISTS (
        SELECT 1
        FROM json_each(r.events) p
        WHERE p.value = '*'
            OR p.value = e.event_type
            OR (
                substr(p.value, -2) = '.*'
                AND length(e.event_type) > length(p.value) - 1
                AND substr(e.event_type, 1, length(p.value) - 1) = substr(p.value, 1, length(p.value) - 1)
            )
    )
ORDER BY e.seq
LIMIT ?10
