-- What everyone on this schema shares beside operations: kinds that a first claim declared, and tokens.

CREATE TABLE onefold_kinds (
    kind text COLLATE "C" PRIMARY KEY,
    declaration text NOT NULL,
    pinned_at bigint NOT NULL
);

-- The digest only: a secret cannot be read back.
CREATE TABLE onefold_tokens (
    name text COLLATE "C" PRIMARY KEY,
    role text NOT NULL,
    tenant text NOT NULL,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    created_at bigint NOT NULL
);
