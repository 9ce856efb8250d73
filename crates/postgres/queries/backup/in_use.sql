-- Other connections of ledgers on this schema. Those of other roles are not seen.
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()
