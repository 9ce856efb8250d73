SELECT name, events, target, declared_by, declared_at, retired_at
FROM onefold_relays
WHERE name = ?1
