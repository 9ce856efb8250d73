-- Starts what stopped; what was refused before no longer counts.
UPDATE onefold_relay_lanes
SET stopped_at = NULL, stopped_code = NULL, refused = '{}'
WHERE relay = ?1 AND stopped_code IS NOT NULL
