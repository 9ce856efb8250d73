-- The ledger: operations, their past attempts, what was said of them, and incidents.
-- Times are microseconds since 1970, UTC. What is the same for most operations of a kind is in `terms`, what few
-- operations have in `details`, both JSON. The tables share the file with the user's own.

CREATE TABLE onefold_operations (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    operation_id TEXT NOT NULL CHECK (length(CAST(operation_id AS BLOB)) BETWEEN 1 AND 1024),
    fingerprint BLOB NOT NULL,
    business_key TEXT,
    correlation_id TEXT,
    process_instance_key TEXT,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    fence INTEGER NOT NULL CHECK (fence > 0),
    attempt_id BLOB NOT NULL,
    installation TEXT,
    worker TEXT NOT NULL,
    deadline INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    terms TEXT NOT NULL,
    details TEXT,
    escalate_at INTEGER,
    next_ask_at INTEGER,
    result BLOB,
    result_type TEXT,
    result_bytes INTEGER,
    result_digest BLOB,
    result_ref TEXT,
    evidence_ref TEXT,
    recorded BLOB,
    incident_id TEXT,
    completed_at INTEGER
) STRICT;

-- The readable id, bytewise: rising ids stay in a few hot pages. The id comes first because it
-- tells two rows apart with one comparison.
CREATE UNIQUE INDEX onefold_operations_key ON onefold_operations (operation_id, kind, tenant);
-- What the sweeper and the reconciler look for; settled rows are in none of these.
CREATE INDEX onefold_operations_lease ON onefold_operations (lease_until) WHERE status = 'STARTED';
CREATE INDEX onefold_operations_escalate ON onefold_operations (escalate_at) WHERE escalate_at IS NOT NULL;
CREATE INDEX onefold_operations_ask ON onefold_operations (next_ask_at) WHERE next_ask_at IS NOT NULL;
-- What people look for.
CREATE INDEX onefold_operations_business_key ON onefold_operations (business_key) WHERE business_key IS NOT NULL;
CREATE INDEX onefold_operations_process ON onefold_operations (process_instance_key) WHERE process_instance_key IS NOT NULL;

CREATE TABLE onefold_attempts (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    attempt_id BLOB NOT NULL,
    worker TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    last_alive_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    ending TEXT NOT NULL,
    status TEXT NOT NULL,
    error_code TEXT,
    category TEXT,
    side_effect_status TEXT NOT NULL,
    recorded BLOB,
    evidence_ref TEXT,
    PRIMARY KEY (tenant, kind, operation_id, fence)
) STRICT, WITHOUT ROWID;

CREATE TABLE onefold_notes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    why TEXT,
    fence INTEGER NOT NULL
) STRICT;

CREATE INDEX onefold_notes_key ON onefold_notes (tenant, kind, operation_id);

CREATE TABLE onefold_incidents (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    group_key TEXT NOT NULL,
    error_code TEXT NOT NULL,
    category TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    closed_at INTEGER,
    body TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX onefold_incidents_one_open ON onefold_incidents (tenant, subject, kind, subject_id) WHERE closed_at IS NULL;
CREATE INDEX onefold_incidents_group ON onefold_incidents (group_key) WHERE closed_at IS NULL;

-- Shared by every process on this file: fingerprint keys, and the highest time anyone has seen.
CREATE TABLE onefold_keys (
    id INTEGER PRIMARY KEY,
    secret BLOB NOT NULL CHECK (length(secret) = 32),
    created_at INTEGER NOT NULL
) STRICT;

-- Of these only what was confirmed deletes anything; a candidate is a later time that was seen and not confirmed.
CREATE TABLE onefold_clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    highest INTEGER NOT NULL,
    confirmed INTEGER NOT NULL DEFAULT 0,
    candidate INTEGER
) STRICT;

INSERT INTO onefold_clock (id, highest) VALUES (1, 0);
