-- Takes free lanes, the longest unserved first; nobody waits for a lane that another process is taking.
WITH free AS MATERIALIZED (
    SELECT lane FROM onefold_relay_lanes
    WHERE relay = $1 AND (holder IS NULL OR lease_until <= $4) AND lane <> ALL ($5::smallint[])
    ORDER BY lease_until, lane
    LIMIT $6
    FOR UPDATE SKIP LOCKED
)
UPDATE onefold_relay_lanes AS l SET fence = l.fence + 1, holder = $2, lease_until = $3
FROM free
WHERE l.relay = $1 AND l.lane = free.lane
