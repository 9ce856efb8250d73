-- How far a relay had come in a lane before a page.
SELECT max(since, pos) AS seq, fence
FROM onefold_relay_lanes
WHERE relay = ?1 AND lane = ?2
