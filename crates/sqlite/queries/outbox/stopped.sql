SELECT stopped_code
FROM onefold_relay_lanes
WHERE relay = ?1 AND stopped_code IS NOT NULL
LIMIT 1
