-- The outbox: events in the transaction of the change that they tell of, and how far each relay has come with them.
-- Times are microseconds since 1970, UTC. Text compares bytewise. Headers are JSON as text.

-- Whether header names may be sent to every target, and all values are text. What is written by SQL alone is refused
-- here, because a relay could not read it.
CREATE FUNCTION onefold_headers_fit(p_headers text) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
    SELECT json_typeof(p_headers::json) = 'object' AND NOT EXISTS (
        SELECT FROM json_each(p_headers::json) AS h (name, value)
        WHERE json_typeof(h.value) <> 'string'
            OR h.name !~ '^[a-z0-9_-]{1,100}$'
            OR h.name ~ '^(ce_|ce-|cloudevents|onefold-|webhook-)'
            OR h.name IN (
                'content-type', 'content-length', 'host', 'connection', 'transfer-encoding', 'authorization',
                'idempotency-key', 'nats-msg-id'
            )
    )
$$;

-- Only appended to, and deleted from by retention.
CREATE TABLE onefold_events (
    -- A larger cache hands numbers out in advance, which inverts the order of events: relays refuse it.
    seq bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
    txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- Computed here, so that writers in every language agree.
    lane smallint NOT NULL GENERATED ALWAYS AS (
        (hashtextextended(aggregate_id || chr(10) || aggregate_type || chr(10) || tenant, 0) & 63)::smallint
    ) STORED,
    id uuid NOT NULL,
    schema_version integer NOT NULL CHECK (schema_version >= 0),
    created_at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    tenant text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9._/-]{1,64}$'),
    aggregate_type text COLLATE "C" NOT NULL CHECK (aggregate_type ~ '^[A-Za-z0-9._-]{1,64}$'),
    aggregate_id text COLLATE "C" NOT NULL CHECK (octet_length(aggregate_id) BETWEEN 1 AND 256),
    event_type text COLLATE "C" NOT NULL CHECK (event_type ~ '^[A-Za-z0-9._-]{1,100}$'),
    payload bytea NOT NULL,
    content_type text COLLATE "C" NOT NULL,
    headers text COLLATE "C" NOT NULL DEFAULT '{}' CHECK (headers = '{}' OR onefold_headers_fit(headers)),
    correlation_id text COLLATE "C",
    CONSTRAINT onefold_events_seq PRIMARY KEY (seq)
);

-- A repeated id stages nothing; also for people who look at one event.
CREATE UNIQUE INDEX onefold_events_id ON onefold_events (id);
-- A window of a lane is one range of transactions and a few single ones.
CREATE INDEX onefold_events_lane ON onefold_events (lane, txid, seq);
-- What people and replays look for.
CREATE INDEX onefold_events_aggregate ON onefold_events (aggregate_type, aggregate_id, created_at);

-- What every process that serves a relay agrees on: two versions in a rolling deployment want the same events.
CREATE TABLE onefold_relays (
    name text COLLATE "C" PRIMARY KEY,
    -- Patterns, as a JSON list.
    events text NOT NULL,
    target text NOT NULL,
    -- The database system in which its place means something.
    system_id text NOT NULL,
    declared_by text NOT NULL,
    declared_at bigint NOT NULL,
    retired_at bigint
);

-- The processes that want lanes of a relay, with or without having any: they share them.
CREATE TABLE onefold_relay_holders (
    relay text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    lease_until bigint NOT NULL,
    PRIMARY KEY (relay, holder)
);

-- A relay's place in one lane. Everything that `since` sees is done; `until` is the window that is being published, and
-- `pos` the last event of it that is done.
CREATE TABLE onefold_relay_lanes (
    relay text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    -- Raised whenever the holder changes; never lowered, so that a paused holder writes nothing.
    fence bigint NOT NULL DEFAULT 0,
    holder text COLLATE "C",
    lease_until bigint NOT NULL DEFAULT 0,
    since pg_snapshot NOT NULL,
    until pg_snapshot,
    pos bigint NOT NULL DEFAULT 0,
    judged bigint NOT NULL DEFAULT 0,
    refused text NOT NULL DEFAULT '{}',
    stopped_at bigint,
    stopped_code text,
    PRIMARY KEY (relay, lane)
)
WITH (fillfactor = 50);

-- A settled page, from which it is known when an event was published although windows overlap in their numbers.
CREATE TABLE onefold_relay_pages (
    relay text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    since pg_snapshot NOT NULL,
    until pg_snapshot NOT NULL,
    seq_from bigint NOT NULL,
    seq_to bigint NOT NULL,
    settled_at bigint NOT NULL,
    passed bigint NOT NULL,
    on_time bigint NOT NULL
);

CREATE INDEX onefold_relay_pages_place ON onefold_relay_pages (relay, lane, seq_to);
CREATE INDEX onefold_relay_pages_settled ON onefold_relay_pages (settled_at);

-- Events that a relay's target refused, and those of the same aggregates that wait behind them.
CREATE TABLE onefold_events_aside (
    relay text COLLATE "C" NOT NULL,
    event_id uuid NOT NULL,
    seq bigint NOT NULL,
    lane smallint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    aggregate_type text COLLATE "C" NOT NULL,
    aggregate_id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL CHECK (status IN ('WAITING', 'BEHIND', 'PARKED', 'SKIPPED', 'PUBLISHED')),
    attempts bigint NOT NULL,
    next_attempt_at bigint NOT NULL,
    -- The end of the lease under which it was last sent.
    tried_until bigint NOT NULL,
    error_code text,
    reason text,
    -- What a person put in place of the payload.
    payload bytea,
    content_type text,
    old_digest bytea CHECK (octet_length(old_digest) = 32),
    changed_at bigint NOT NULL,
    PRIMARY KEY (relay, event_id)
);

CREATE INDEX onefold_events_aside_event ON onefold_events_aside (event_id);
-- The first of each aggregate that has not ended, and those behind it.
CREATE INDEX onefold_events_aside_order
    ON onefold_events_aside (relay, lane, aggregate_type, aggregate_id, tenant, seq)
    WHERE status IN ('WAITING', 'BEHIND', 'PARKED');

-- What people decided about events and relays, and why.
CREATE TABLE onefold_outbox_audit (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    relay text COLLATE "C" NOT NULL,
    event_id uuid,
    verb text NOT NULL,
    who text NOT NULL,
    why text NOT NULL,
    old_digest bytea,
    replay_id text COLLATE "C"
);

CREATE INDEX onefold_outbox_audit_event ON onefold_outbox_audit (event_id);

-- What people asked to be sent again, how far that is, and which process sends it. Kept: who asked for what, and why.
CREATE TABLE onefold_replays (
    id text COLLATE "C" PRIMARY KEY,
    relay text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    event_type text COLLATE "C",
    staged_from bigint,
    staged_to bigint,
    aggregate_type text COLLATE "C",
    aggregate_id text COLLATE "C",
    events_max bigint NOT NULL,
    rate bigint NOT NULL,
    who text NOT NULL,
    why text NOT NULL,
    requested_at bigint NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('RUNNING', 'DONE', 'CANCELLED')),
    -- The last place that is done, and the last that there was when it was asked for.
    pos bigint NOT NULL,
    last bigint NOT NULL,
    published bigint NOT NULL,
    refused bigint NOT NULL,
    refusals text NOT NULL,
    ended_at bigint,
    fence bigint NOT NULL,
    holder text COLLATE "C",
    lease_until bigint NOT NULL
);

CREATE INDEX onefold_replays_running ON onefold_replays (relay, requested_at, id) WHERE state = 'RUNNING';

-- Whether a relay with these patterns wants this type.
CREATE FUNCTION onefold_wants(p_events text, p_event_type text) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
    SELECT EXISTS (
        SELECT FROM json_array_elements_text(p_events::json) AS p (pattern)
        WHERE p.pattern = '*' OR p.pattern = p_event_type
            OR (
                right(p.pattern, 2) = '.*' AND starts_with(p_event_type, left(p.pattern, -1))
                AND length(p_event_type) >= length(p.pattern)
            )
    )
$$;

-- Whether a cursor has passed an event: the one expression for it.
CREATE FUNCTION onefold_passed(p_since pg_snapshot, p_until pg_snapshot, p_pos bigint, p_txid xid8, p_seq bigint)
RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
    SELECT pg_visible_in_snapshot(p_txid, p_since)
        OR coalesce(p_seq <= p_pos AND pg_visible_in_snapshot(p_txid, p_until), false)
$$;

-- An event for each relay that wants it: NEW, PUBLISHED, or FAILED where a person must decide.
CREATE VIEW onefold_outbox AS
SELECT
    r.name AS relay,
    e.id,
    e.seq,
    e.tenant,
    e.aggregate_type,
    e.aggregate_id,
    e.event_type,
    e.schema_version,
    e.created_at,
    CASE
        WHEN a.status = 'PARKED' THEN 'FAILED'
        WHEN a.status IN ('WAITING', 'BEHIND') THEN 'NEW'
        WHEN a.status IN ('PUBLISHED', 'SKIPPED') OR c.passed THEN 'PUBLISHED'
        ELSE 'NEW'
    END AS status,
    coalesce(a.attempts, c.passed::int::bigint) AS attempts,
    CASE WHEN a.status IN ('WAITING', 'BEHIND') THEN a.next_attempt_at END AS next_attempt_at,
    CASE
        WHEN a.status = 'PUBLISHED' THEN a.changed_at
        WHEN a.status IS NULL AND c.passed THEN (
            SELECT min(p.settled_at) FROM onefold_relay_pages AS p
            WHERE p.relay = r.name AND p.lane = e.lane AND e.seq BETWEEN p.seq_from AND p.seq_to
                AND pg_visible_in_snapshot(e.txid, p.until) AND NOT pg_visible_in_snapshot(e.txid, p.since)
        )
    END AS published_at
FROM onefold_events AS e
CROSS JOIN onefold_relays AS r
JOIN onefold_relay_lanes AS l ON l.relay = r.name AND l.lane = e.lane
CROSS JOIN LATERAL (SELECT onefold_passed(l.since, l.until, l.pos, e.txid, e.seq) AS passed) AS c
LEFT JOIN onefold_events_aside AS a ON a.relay = r.name AND a.event_id = e.id
WHERE r.retired_at IS NULL
    AND onefold_wants(r.events, e.event_type);

-- Stages an event in the caller's own transaction, from any language, and returns its id. The transaction has locked the
-- aggregate's row before. A known id with the same content stages nothing; with another it is refused.
CREATE FUNCTION onefold_stage(
    aggregate_type text,
    aggregate_id text,
    event_type text,
    schema_version integer,
    payload text,
    tenant text DEFAULT 'default',
    id uuid DEFAULT gen_random_uuid(),
    content_type text DEFAULT 'application/json',
    headers text DEFAULT '{}',
    correlation_id text DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    v_payload bytea := convert_to(onefold_stage.payload, 'UTF8');
    v_same boolean;
BEGIN
    INSERT INTO onefold_events AS e (
        id, schema_version, tenant, aggregate_type, aggregate_id, event_type, payload, content_type, headers,
        correlation_id
    ) VALUES (
        onefold_stage.id, onefold_stage.schema_version, onefold_stage.tenant, onefold_stage.aggregate_type,
        onefold_stage.aggregate_id, onefold_stage.event_type, v_payload, onefold_stage.content_type,
        onefold_stage.headers, onefold_stage.correlation_id
    )
    ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN
        RETURN onefold_stage.id;
    END IF;
    SELECT e.event_type = onefold_stage.event_type AND e.schema_version = onefold_stage.schema_version
        AND e.tenant = onefold_stage.tenant AND e.aggregate_type = onefold_stage.aggregate_type
        AND e.aggregate_id = onefold_stage.aggregate_id AND e.payload = v_payload
        AND e.content_type = onefold_stage.content_type
    INTO v_same FROM onefold_events AS e WHERE e.id = onefold_stage.id;
    IF v_same IS NOT TRUE THEN
        RAISE EXCEPTION 'EVENT_ID_REUSED: event % is staged already, and it is another one', onefold_stage.id
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'onefold_events_id',
                HINT = 'Give each event its own id.';
    END IF;
    RETURN onefold_stage.id;
END
$$;

-- The same where there is no row to lock: takes a lock of its own on the aggregate, until the end of the transaction.
CREATE FUNCTION onefold_stage_ordered(
    aggregate_type text,
    aggregate_id text,
    event_type text,
    schema_version integer,
    payload text,
    tenant text DEFAULT 'default',
    id uuid DEFAULT gen_random_uuid(),
    content_type text DEFAULT 'application/json',
    headers text DEFAULT '{}',
    correlation_id text DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(
        'onefold_events'::regclass::oid::int,
        hashtext(aggregate_id || chr(10) || aggregate_type || chr(10) || tenant)
    );
    RETURN onefold_stage(
        aggregate_type, aggregate_id, event_type, schema_version, payload, tenant, id, content_type, headers,
        correlation_id
    );
END
$$;
