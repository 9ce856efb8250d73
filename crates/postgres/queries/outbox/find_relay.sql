-- A relay.
SELECT name, events, target, system_id, declared_by, declared_at, retired_at FROM onefold_relays WHERE name = $1
