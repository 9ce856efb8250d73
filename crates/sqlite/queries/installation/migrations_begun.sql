-- Whether this file has a ledger.
SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'onefold_migrations')
