-- Who was told of which incident. A row is one incident in one announcement to one sink; both rows of an incident go
-- once its closing was announced.

CREATE TABLE onefold_told (
    sink text COLLATE "C" NOT NULL,
    incident_id text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    announcement text COLLATE "C" NOT NULL,
    queued_at bigint NOT NULL,
    delivered bigint NOT NULL,
    PRIMARY KEY (sink, incident_id, event)
);

CREATE INDEX onefold_told_undelivered ON onefold_told (sink, announcement) WHERE delivered = 0;

-- Which process announces to a sink, and until when.
CREATE TABLE onefold_turns (
    sink text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    until bigint NOT NULL
);
