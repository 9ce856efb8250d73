-- Moves a cursor under its fence.
UPDATE onefold_relay_lanes
SET since = ?4, until = ?5, pos = ?6
WHERE relay = ?1 AND lane = ?2 AND fence = ?3
