-- A relay belongs to this database system from now on; its pages and holders were those of another one.
WITH forgotten AS (
    DELETE FROM onefold_relay_pages WHERE relay = $1
), gone AS (
    DELETE FROM onefold_relay_holders WHERE relay = $1
)
UPDATE onefold_relays SET system_id = $2 WHERE name = $1
