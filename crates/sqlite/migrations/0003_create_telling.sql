-- Who was told of which incident. A row is one incident in one announcement to one sink; both rows of an incident go
-- once its closing was announced.

CREATE TABLE onefold_told (
    sink TEXT NOT NULL,
    incident_id TEXT NOT NULL,
    event TEXT NOT NULL,
    announcement TEXT NOT NULL,
    queued_at INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    PRIMARY KEY (sink, incident_id, event)
) STRICT, WITHOUT ROWID;

CREATE INDEX onefold_told_undelivered ON onefold_told (sink, announcement) WHERE delivered = 0;

-- Which process announces to a sink, and until when.
CREATE TABLE onefold_turns (
    sink TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
