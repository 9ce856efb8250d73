-- The newest migration.
SELECT coalesce(max(version), 0) FROM onefold_migrations
