-- Which migrations this schema has; our own table, because the database is shared with the user's tables.
CREATE TABLE IF NOT EXISTS onefold_migrations (
    version bigint PRIMARY KEY,
    name text NOT NULL,
    applied_at bigint NOT NULL
)
