-- Events that were set aside and whose turn it is: the first of an aggregate that has not ended, then those that wait
-- behind it. They count as sent until their lane's lease ends: a person who skips or edits one waits for that.
WITH first AS (
    SELECT DISTINCT ON (lane, aggregate_type, aggregate_id, tenant)
        lane, aggregate_type, aggregate_id, tenant, seq, status, next_attempt_at
    FROM onefold_events_aside
    WHERE relay = $1 AND lane = ANY($2::smallint[]) AND status IN ('WAITING', 'BEHIND', 'PARKED')
    ORDER BY lane, aggregate_type, aggregate_id, tenant, seq
), heads AS MATERIALIZED (
    SELECT * FROM first
    WHERE status IN ('WAITING', 'BEHIND') AND next_attempt_at <= $3
    ORDER BY next_attempt_at, seq
    LIMIT $4
), turns AS MATERIALIZED (
    SELECT h.next_attempt_at AS due_at, h.seq AS head, a.event_id
    FROM heads AS h
    JOIN onefold_events_aside AS a
        ON a.relay = $1 AND a.lane = h.lane AND a.aggregate_type = h.aggregate_type
        AND a.aggregate_id = h.aggregate_id AND a.tenant = h.tenant AND a.seq >= h.seq
        AND a.status IN ('WAITING', 'BEHIND', 'PARKED')
    WHERE NOT EXISTS (
        SELECT FROM onefold_events_aside AS b
        WHERE b.relay = $1 AND b.lane = h.lane AND b.aggregate_type = h.aggregate_type
            AND b.aggregate_id = h.aggregate_id AND b.tenant = h.tenant AND b.seq > h.seq AND b.seq <= a.seq
            AND b.status IN ('WAITING', 'BEHIND', 'PARKED') AND b.status <> 'BEHIND'
    )
    ORDER BY h.next_attempt_at, h.seq, a.seq
    LIMIT $4
), sent AS (
    UPDATE onefold_events_aside AS a SET tried_until = greatest(a.tried_until, l.lease_until)
    FROM turns AS t, onefold_relay_lanes AS l
    WHERE a.relay = $1 AND a.event_id = t.event_id AND l.relay = $1 AND l.lane = a.lane
    RETURNING a.*, t.due_at, t.head
)
SELECT
    a.relay, a.event_id::text AS event_id, a.seq, a.lane, a.tenant, a.aggregate_type, a.aggregate_id, a.status, a.attempts,
    a.next_attempt_at, a.tried_until, a.error_code, a.reason, a.payload AS edited_payload,
    a.content_type AS edited_content_type, a.old_digest,
    e.id::text AS id, e.event_type, e.schema_version, e.created_at, e.payload, e.content_type, e.headers,
    e.correlation_id
FROM sent AS a JOIN onefold_events AS e ON e.seq = a.seq
ORDER BY a.due_at, a.head, a.seq
