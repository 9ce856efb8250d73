-- A process wants lanes of a relay; how many others do.
WITH gone AS (
    DELETE FROM onefold_relay_holders WHERE relay = $1 AND holder <> $2 AND lease_until <= $4
), present AS (
    INSERT INTO onefold_relay_holders (relay, holder, lease_until) VALUES ($1, $2, $3)
    ON CONFLICT (relay, holder) DO UPDATE SET lease_until = excluded.lease_until
)
SELECT count(*) FROM onefold_relay_holders WHERE relay = $1 AND holder <> $2 AND lease_until > $4
