-- How many events between two places a replay would send.
SELECT count(*) AS events
FROM onefold_events AS e
JOIN onefold_relays AS r ON r.name = $1
JOIN onefold_relay_lanes AS l ON l.relay = r.name AND l.lane = e.lane
LEFT JOIN onefold_events_aside AS a ON a.relay = r.name AND a.event_id = e.id
WHERE e.seq > $2 AND e.seq <= $3
    AND e.tenant = $4
    AND ($5::text IS NULL OR e.event_type = $5)
    AND ($6::bigint IS NULL OR e.created_at >= $6)
    AND ($7::bigint IS NULL OR e.created_at < $7)
    AND ($8::text IS NULL OR e.aggregate_type = $8)
    AND ($9::text IS NULL OR e.aggregate_id = $9)
    AND (a.status IS NULL OR a.status IN ('PUBLISHED', 'SKIPPED'))
    AND onefold_passed(l.since, l.until, l.pos, e.txid, e.seq)
    AND onefold_wants(r.events, e.event_type)
