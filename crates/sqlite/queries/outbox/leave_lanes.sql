-- Gives the lane back.
UPDATE onefold_relay_lanes
SET holder = NULL, lease_until = 0
WHERE relay = ?1 AND holder = ?2
