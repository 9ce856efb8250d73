-- Which ledger this is, and how far it has come. The same is remembered outside the database, so that a database that
-- went back, lost commits or was replaced is noticed.

-- A generation begins with a new ledger, and whenever a person accepts one that went back.
CREATE TABLE onefold_generations (
    number bigint PRIMARY KEY,
    generation bytea NOT NULL CHECK (octet_length(generation) = 16),
    began_at bigint NOT NULL,
    who text,
    why text
);

CREATE TABLE onefold_position (
    id bigint PRIMARY KEY CHECK (id = 1),
    -- Raised about once a second while something is written.
    mark bigint NOT NULL,
    marked_at bigint NOT NULL,
    -- Set in a backup, until a person accepts it as the ledger.
    copied_at bigint
);

INSERT INTO onefold_position (id, mark, marked_at) VALUES (1, 0, 0);

-- What a probe takes and gives back; not compressed, so that it takes room.
CREATE TABLE onefold_room (
    id bigint PRIMARY KEY,
    filler bytea NOT NULL
);
ALTER TABLE onefold_room ALTER COLUMN filler SET STORAGE EXTERNAL;
