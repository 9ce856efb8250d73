-- The service's own tables, in the ledger's file.
CREATE TABLE IF NOT EXISTS case_actors (
    id TEXT NOT NULL PRIMARY KEY,
    standing TEXT NOT NULL CONSTRAINT actor_standing_known CHECK (standing IN ('ACTIVE', 'SUSPENDED'))
) STRICT;

CREATE TABLE IF NOT EXISTS cases (
    id TEXT NOT NULL PRIMARY KEY,
    idempotency_key TEXT NOT NULL,
    title TEXT NOT NULL CONSTRAINT case_title_given CHECK (length(title) BETWEEN 1 AND 200),
    subject TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    status TEXT NOT NULL CONSTRAINT case_status_known CHECK (status IN ('SUBMITTED', 'ASSESSED', 'CLOSED')),
    submitted_at TEXT NOT NULL,
    -- The submission as it was read, to tell a repetition from another submission.
    submission TEXT NOT NULL,
    -- What was answered.
    answer TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX IF NOT EXISTS cases_idempotency_key ON cases (idempotency_key);
