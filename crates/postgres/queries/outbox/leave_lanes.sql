-- Gives lanes back.
UPDATE onefold_relay_lanes SET holder = NULL, lease_until = $4
WHERE relay = $1 AND holder = $2 AND lane = ANY($3::smallint[])
RETURNING lane
