-- Which ledger this is, and how far it has come. The same is remembered outside the database, so that a database that
-- went back, lost its log or was replaced is noticed.

-- A generation begins with a new ledger, and whenever a person accepts one that went back.
CREATE TABLE onefold_generations (
    number INTEGER PRIMARY KEY,
    generation BLOB NOT NULL CHECK (length(generation) = 16),
    began_at INTEGER NOT NULL,
    who TEXT,
    why TEXT
) STRICT;

CREATE TABLE onefold_position (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- Raised about once a second while something is written.
    mark INTEGER NOT NULL,
    marked_at INTEGER NOT NULL,
    -- Set in a backup, until a person accepts it as the ledger.
    copied_at INTEGER
) STRICT;

INSERT INTO onefold_position (id, mark, marked_at) VALUES (1, 0, 0);

-- What a probe takes and gives back.
CREATE TABLE onefold_room (
    id INTEGER PRIMARY KEY,
    filler BLOB NOT NULL
) STRICT;
