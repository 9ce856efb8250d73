-- The ledger: operations, their past attempts, what was said of them, and incidents.
-- Times are microseconds since 1970, UTC. What is the same for most operations of a kind is in `terms`, what few
-- operations have in `details`, both JSON. Text compares bytewise. The tables share the database with the user's own.

CREATE TABLE onefold_operations (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    operation_id text COLLATE "C" NOT NULL CHECK (octet_length(operation_id) BETWEEN 1 AND 1024),
    fingerprint bytea NOT NULL,
    business_key text,
    correlation_id text,
    process_instance_key text,
    created_at bigint NOT NULL,
    status text NOT NULL,
    fence bigint NOT NULL CHECK (fence > 0),
    attempt_id bytea NOT NULL,
    installation text,
    worker text NOT NULL,
    deadline bigint NOT NULL,
    lease_until bigint NOT NULL,
    terms text NOT NULL,
    details text,
    escalate_at bigint,
    next_ask_at bigint,
    result bytea,
    result_type text,
    result_bytes bigint,
    result_digest bytea,
    result_ref text,
    evidence_ref text,
    recorded bytea,
    incident_id text,
    completed_at bigint,
    -- What is unknown has an incident or a question: the index of unknown ones counts on it.
    CONSTRAINT onefold_operations_unknown_check
        CHECK (status <> 'UNKNOWN' OR next_ask_at IS NOT NULL OR incident_id IS NOT NULL)
)
-- Room for the completion beside the grant. No index below mentions a column that a completion changes, so it is
-- written into the same page and into no index. Keep it so: one such column in an index, or in its condition, makes
-- every completion write into all of them.
WITH (fillfactor = 40);

-- The readable id, bytewise: rising ids stay in a few hot pages. The id comes first because it tells two rows
-- apart with one comparison.
CREATE UNIQUE INDEX onefold_operations_key ON onefold_operations (operation_id, kind, tenant);
CREATE UNIQUE INDEX onefold_operations_seq ON onefold_operations (seq);
-- What the sweeper and the reconciler look for; settled rows are in none of these.
CREATE INDEX onefold_operations_escalate ON onefold_operations (escalate_at) WHERE escalate_at IS NOT NULL;
CREATE INDEX onefold_operations_ask ON onefold_operations (next_ask_at) WHERE next_ask_at IS NOT NULL;
-- What the pruner looks for. The condition is true of every row: it keeps statements that do not repeat it, and look
-- for one operation of a kind, from reading the whole kind.
CREATE INDEX onefold_operations_created ON onefold_operations (kind, created_at) WHERE created_at >= 0;
-- What people look for, and what is counted at every scrape.
CREATE INDEX onefold_operations_business_key ON onefold_operations (business_key) WHERE business_key IS NOT NULL;
CREATE INDEX onefold_operations_process ON onefold_operations (process_instance_key) WHERE process_instance_key IS NOT NULL;
CREATE INDEX onefold_operations_unknown ON onefold_operations (incident_id) WHERE next_ask_at IS NOT NULL OR incident_id IS NOT NULL;

-- Where the sweeper finds leases: a row for the operations that one commit granted. An operation that is STARTED is in
-- a row whose `due_at` is not after the end of its lease; rows may name others too, until the sweeper has looked.
CREATE TABLE onefold_leases (
    id bigint GENERATED ALWAYS AS IDENTITY,
    due_at bigint NOT NULL,
    seqs bigint[] NOT NULL,
    PRIMARY KEY (due_at, id)
);

CREATE TABLE onefold_attempts (
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    operation_id text COLLATE "C" NOT NULL,
    fence bigint NOT NULL,
    attempt_id bytea NOT NULL,
    worker text NOT NULL,
    started_at bigint NOT NULL,
    deadline bigint NOT NULL,
    last_alive_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    ending text NOT NULL,
    status text NOT NULL,
    error_code text,
    category text,
    side_effect_status text NOT NULL,
    recorded bytea,
    evidence_ref text,
    PRIMARY KEY (operation_id, kind, tenant, fence)
);

CREATE TABLE onefold_notes (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    operation_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    why text,
    fence bigint NOT NULL
);

CREATE INDEX onefold_notes_key ON onefold_notes (operation_id, kind, tenant);

CREATE TABLE onefold_incidents (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    tenant text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    subject_id text COLLATE "C" NOT NULL,
    group_key text COLLATE "C" NOT NULL,
    error_code text NOT NULL,
    category text NOT NULL,
    first_seen bigint NOT NULL,
    last_seen bigint NOT NULL,
    closed_at bigint,
    body text NOT NULL
);

CREATE UNIQUE INDEX onefold_incidents_one_open ON onefold_incidents (subject_id, kind, subject, tenant) WHERE closed_at IS NULL;
CREATE INDEX onefold_incidents_group ON onefold_incidents (group_key) WHERE closed_at IS NULL;
CREATE INDEX onefold_incidents_closed ON onefold_incidents (subject_id, kind, subject, tenant) WHERE closed_at IS NOT NULL;

-- Shared by every process on this schema: the fingerprint keys.
CREATE TABLE onefold_keys (
    id bigint PRIMARY KEY,
    secret bytea NOT NULL CHECK (octet_length(secret) = 32),
    created_at bigint NOT NULL
);

-- Shared too: the time that was confirmed last, which alone deletes anything, and a later one that was not confirmed.
CREATE TABLE onefold_clock (
    id bigint PRIMARY KEY CHECK (id = 1),
    confirmed bigint NOT NULL,
    candidate bigint
);

INSERT INTO onefold_clock (id, confirmed) VALUES (1, 0);
