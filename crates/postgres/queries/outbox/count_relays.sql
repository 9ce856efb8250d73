-- Relays that are not retired.
SELECT count(*) FROM onefold_relays WHERE retired_at IS NULL
