-- Every relay, with the events that it wants and has not passed, and what it has passed since $1.
SELECT
    r.name, r.events, r.target, r.declared_by, r.declared_at, r.retired_at, w.waiting, w.oldest, a.parked, a.set_aside,
    p.passed, p.on_time,
    (SELECT min(l.stopped_code) FROM onefold_relay_lanes AS l WHERE l.relay = r.name) AS stopped_code
FROM onefold_relays AS r
CROSS JOIN LATERAL (
    SELECT coalesce(sum(t.waiting), 0)::bigint AS waiting, min(t.oldest) AS oldest
    FROM (
        SELECT e.event_type, count(*) AS waiting, min(e.created_at) AS oldest
        FROM onefold_relay_lanes AS l
        CROSS JOIN LATERAL (
            SELECT e.txid, e.seq, e.event_type, e.created_at FROM onefold_events AS e
            WHERE e.lane = l.lane AND e.txid >= pg_snapshot_xmax(l.since)
            UNION ALL
            SELECT e.txid, e.seq, e.event_type, e.created_at FROM pg_snapshot_xip(l.since) AS running (txid)
            JOIN onefold_events AS e ON e.lane = l.lane AND e.txid = running.txid
        ) AS e
        WHERE l.relay = r.name AND r.retired_at IS NULL
            AND NOT onefold_passed(l.since, l.until, l.pos, e.txid, e.seq)
        GROUP BY e.event_type
    ) AS t
    WHERE onefold_wants(r.events, t.event_type)
) AS w
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE a.status = 'PARKED') AS parked,
        count(*) FILTER (WHERE a.status IN ('WAITING', 'BEHIND')) AS set_aside
    FROM onefold_events_aside AS a
    WHERE a.relay = r.name AND a.status IN ('WAITING', 'BEHIND', 'PARKED')
) AS a
CROSS JOIN LATERAL (
    SELECT coalesce(sum(p.passed), 0)::bigint AS passed, coalesce(sum(p.on_time), 0)::bigint AS on_time
    FROM onefold_relay_pages AS p
    WHERE p.relay = r.name AND p.settled_at >= $1
) AS p
ORDER BY r.name
