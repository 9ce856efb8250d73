UPDATE onefold_relays
SET retired_at = ?2
WHERE name = ?1
