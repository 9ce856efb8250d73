-- Renews the lanes that a process holds; nobody else has taken them.
WITH mine AS MATERIALIZED (
    SELECT lane FROM onefold_relay_lanes WHERE relay = $1 AND holder = $2 ORDER BY lane FOR UPDATE
)
UPDATE onefold_relay_lanes AS l SET lease_until = $3
FROM mine
WHERE l.relay = $1 AND l.lane = mine.lane AND l.holder = $2
RETURNING l.lane
