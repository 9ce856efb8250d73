-- What pages change at their lanes, each under its fence; the lanes that changed. A page that was settled before its
-- answer was lost is settled again without a change.
WITH pages AS MATERIALIZED (
    SELECT p.lane, p.fence, p.pos, p.reached, p.judged, p.refused, p.stopped, p.passed, p.on_time
    FROM unnest($2::smallint[], $3::bigint[], $4::bigint[], $5::boolean[], $6::bigint[], $7::text[], $8::text[],
        $10::bigint[], $11::bigint[])
        AS p (lane, fence, pos, reached, judged, refused, stopped, passed, on_time)
), locked AS MATERIALIZED (
    SELECT l.lane, l.fence, l.since, l.until, l.pos AS before, p.pos, p.passed, p.on_time
    FROM pages AS p
    JOIN onefold_relay_lanes AS l ON l.relay = $1 AND l.lane = p.lane AND l.fence = p.fence
    ORDER BY l.lane
    FOR UPDATE OF l
), added AS (
    INSERT INTO onefold_relay_pages (relay, lane, since, until, seq_from, seq_to, settled_at, passed, on_time)
    SELECT
        $1, locked.lane, locked.since, locked.until, locked.before + 1, locked.pos, $9::bigint, locked.passed,
        locked.on_time
    FROM locked
    WHERE locked.until IS NOT NULL AND locked.pos > locked.before
)
UPDATE onefold_relay_lanes AS l
SET
    since = CASE WHEN p.reached THEN coalesce(l.until, l.since) ELSE l.since END,
    until = CASE WHEN p.reached THEN NULL ELSE l.until END,
    pos = CASE WHEN p.reached OR l.until IS NULL THEN 0 ELSE greatest(l.pos, p.pos) END,
    judged = p.judged,
    refused = p.refused,
    stopped_at = CASE WHEN p.stopped IS NULL THEN l.stopped_at ELSE $9::bigint END,
    stopped_code = coalesce(p.stopped, l.stopped_code)
FROM pages AS p JOIN locked ON locked.lane = p.lane AND locked.fence = p.fence
WHERE l.relay = $1 AND l.lane = p.lane AND l.fence = p.fence
RETURNING l.lane
