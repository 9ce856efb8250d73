-- Ends a relay; a process that still holds lanes of it writes nothing more.
WITH lost AS (
    UPDATE onefold_relay_lanes SET fence = fence + 1, holder = NULL, lease_until = 0 WHERE relay = $1
), gone AS (
    DELETE FROM onefold_relay_holders WHERE relay = $1
)
UPDATE onefold_relays SET retired_at = $2 WHERE name = $1
