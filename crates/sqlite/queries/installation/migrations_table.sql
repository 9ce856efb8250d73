-- Which migrations this file has; our own table, because the file is shared with the user's tables.
CREATE TABLE IF NOT EXISTS onefold_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
