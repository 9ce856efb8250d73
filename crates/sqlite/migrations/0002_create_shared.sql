-- What everyone on this file shares beside operations: kinds that a first claim declared, and tokens.

CREATE TABLE onefold_kinds (
    kind TEXT PRIMARY KEY,
    declaration TEXT NOT NULL,
    pinned_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The digest only: a secret cannot be read back.
CREATE TABLE onefold_tokens (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    tenant TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Counted at every scrape; settled rows are not in it.
CREATE INDEX onefold_operations_unknown ON onefold_operations (kind) WHERE status = 'UNKNOWN';
