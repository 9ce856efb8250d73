-- Moves cursors, each under its fence; the lanes that moved.
WITH steps AS MATERIALIZED (
    SELECT s.lane, s.fence, s.since, s.until, s.pos
    FROM unnest($2::smallint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[])
        AS s (lane, fence, since, until, pos)
), locked AS MATERIALIZED (
    SELECT l.lane, l.fence FROM steps AS s
    JOIN onefold_relay_lanes AS l ON l.relay = $1 AND l.lane = s.lane AND l.fence = s.fence
    ORDER BY l.lane
    FOR UPDATE OF l
)
UPDATE onefold_relay_lanes AS l
SET since = s.since::pg_snapshot, until = s.until::pg_snapshot, pos = s.pos
FROM steps AS s JOIN locked ON locked.lane = s.lane AND locked.fence = s.fence
WHERE l.relay = $1 AND l.lane = s.lane AND l.fence = s.fence
RETURNING l.lane
