-- The places of the lanes that a process holds.
SELECT lane, fence, since::text AS since, until::text AS until, pos, judged, refused, stopped_code
FROM onefold_relay_lanes
WHERE relay = $1 AND holder = $2
ORDER BY lane
