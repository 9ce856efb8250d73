-- A migration that was applied.
INSERT INTO onefold_migrations (version, name, applied_at) VALUES ($1, $2, $3)
