-- The outbox: events, and how far each relay has come with them. Events are only ever added; retention deletes them.

-- Without AUTOINCREMENT a number would come back after a prune, below a relay's place, and its event would be lost.
CREATE TABLE onefold_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    -- What is written by SQL alone is refused here where a relay could not read it.
    tenant TEXT NOT NULL CHECK (length(tenant) BETWEEN 1 AND 64 AND tenant NOT GLOB '*[^A-Za-z0-9._/-]*'),
    aggregate_type TEXT NOT NULL
        CHECK (length(aggregate_type) BETWEEN 1 AND 64 AND aggregate_type NOT GLOB '*[^A-Za-z0-9._-]*'),
    aggregate_id TEXT NOT NULL CHECK (length(aggregate_id) BETWEEN 1 AND 256),
    event_type TEXT NOT NULL CHECK (length(event_type) BETWEEN 1 AND 100 AND event_type NOT GLOB '*[^A-Za-z0-9._-]*'),
    schema_version INTEGER NOT NULL CHECK (schema_version BETWEEN 0 AND 4294967295),
    created_at INTEGER NOT NULL,
    payload BLOB NOT NULL,
    content_type TEXT NOT NULL,
    headers TEXT NOT NULL CHECK (headers = '{}' OR json_valid(headers)),
    correlation_id TEXT
) STRICT;

CREATE INDEX onefold_events_aggregate ON onefold_events (aggregate_type, aggregate_id, created_at);

-- `events` is a JSON array of patterns.
CREATE TABLE onefold_relays (
    name TEXT PRIMARY KEY,
    events TEXT NOT NULL,
    target TEXT NOT NULL,
    declared_by TEXT NOT NULL,
    declared_at INTEGER NOT NULL,
    retired_at INTEGER
) STRICT, WITHOUT ROWID;

-- A relay's place. One file has one writer, so there is one lane, and both ends of a window are numbers of events.
CREATE TABLE onefold_relay_lanes (
    relay TEXT NOT NULL,
    lane INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    holder TEXT,
    lease_until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER,
    pos INTEGER NOT NULL,
    judged INTEGER NOT NULL,
    refused TEXT NOT NULL,
    stopped_at INTEGER,
    stopped_code TEXT,
    PRIMARY KEY (relay, lane)
) STRICT, WITHOUT ROWID;

-- Which events a relay passed when: a row a settled page.
CREATE TABLE onefold_relay_pages (
    relay TEXT NOT NULL,
    lane INTEGER NOT NULL,
    seq_from INTEGER NOT NULL,
    seq_to INTEGER NOT NULL,
    settled_at INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    on_time INTEGER NOT NULL,
    PRIMARY KEY (relay, lane, seq_to)
) STRICT, WITHOUT ROWID;

CREATE INDEX onefold_relay_pages_settled ON onefold_relay_pages (settled_at);

CREATE TABLE onefold_events_aside (
    relay TEXT NOT NULL,
    event_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    aggregate_type TEXT NOT NULL,
    aggregate_id TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    tried_until INTEGER NOT NULL,
    error_code TEXT,
    reason TEXT,
    payload BLOB,
    content_type TEXT,
    old_digest BLOB,
    PRIMARY KEY (relay, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX onefold_events_aside_order
    ON onefold_events_aside (relay, lane, aggregate_type, aggregate_id, tenant, seq)
    WHERE status IN ('WAITING', 'BEHIND', 'PARKED');
CREATE INDEX onefold_events_aside_seq ON onefold_events_aside (seq);

-- What people decided about events, and why.
CREATE TABLE onefold_outbox_audit (
    at INTEGER NOT NULL,
    relay TEXT NOT NULL,
    event_id BLOB,
    verb TEXT NOT NULL,
    who TEXT NOT NULL,
    why TEXT NOT NULL,
    old_digest BLOB,
    replay_id TEXT
) STRICT;

-- What people asked to be sent again, how far that is, and which process sends it. Kept: who asked for what, and why.
CREATE TABLE onefold_replays (
    id TEXT PRIMARY KEY,
    relay TEXT NOT NULL,
    tenant TEXT NOT NULL,
    event_type TEXT,
    staged_from INTEGER,
    staged_to INTEGER,
    aggregate_type TEXT,
    aggregate_id TEXT,
    events_max INTEGER NOT NULL,
    rate INTEGER NOT NULL,
    who TEXT NOT NULL,
    why TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('RUNNING', 'DONE', 'CANCELLED')),
    -- The last place that is done, and the last that there was when it was asked for.
    pos INTEGER NOT NULL,
    last INTEGER NOT NULL,
    published INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    refusals TEXT NOT NULL,
    ended_at INTEGER,
    fence INTEGER NOT NULL,
    holder TEXT,
    lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX onefold_replays_running ON onefold_replays (relay, requested_at, id) WHERE state = 'RUNNING';

-- An event for each relay that wants it: NEW, PUBLISHED, or FAILED where a person must decide.
CREATE VIEW onefold_outbox AS
SELECT
    e.seq,
    e.id,
    e.tenant,
    e.aggregate_type,
    e.aggregate_id,
    e.event_type,
    e.schema_version,
    e.created_at,
    r.name AS relay,
    CASE
        WHEN a.status = 'PARKED' THEN 'FAILED'
        WHEN a.status IN ('WAITING', 'BEHIND') THEN 'NEW'
        WHEN a.status IN ('PUBLISHED', 'SKIPPED') OR e.seq <= max(l.since, l.pos) THEN 'PUBLISHED'
        ELSE 'NEW'
    END AS status,
    coalesce(a.attempts, e.seq <= max(l.since, l.pos)) AS attempts,
    CASE WHEN a.status IN ('WAITING', 'BEHIND') THEN a.next_attempt_at END AS next_attempt_at,
    CASE
        WHEN a.status IS NULL THEN (
            SELECT p.settled_at
            FROM onefold_relay_pages p
            WHERE p.relay = r.name AND p.lane = 0 AND p.seq_to >= e.seq AND p.seq_from <= e.seq
            ORDER BY p.seq_to
            LIMIT 1
        )
        WHEN a.status = 'PUBLISHED' THEN a.tried_until
    END AS published_at
FROM onefold_events e
JOIN onefold_relays r
    ON r.retired_at IS NULL
    AND EXISTS (
        SELECT 1
        FROM json_each(r.events) p
        WHERE p.value = '*'
            OR p.value = e.event_type
            OR (
                substr(p.value, -2) = '.*'
                AND length(e.event_type) > length(p.value) - 1
                AND substr(e.event_type, 1, length(p.value) - 1) = substr(p.value, 1, length(p.value) - 1)
            )
    )
JOIN onefold_relay_lanes l ON l.relay = r.name AND l.lane = 0
LEFT JOIN onefold_events_aside a ON a.relay = r.name AND a.event_id = e.id;
