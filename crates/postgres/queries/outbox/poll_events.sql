-- What lies beyond the cursors of some lanes, as it is in one snapshot, which the first row tells. In a stored window it
-- is what is left of it; else what `since` does not see. Events of types that are not wanted bring no payload.
WITH cursors AS MATERIALIZED (
    SELECT c.place, c.lane, c.since::pg_snapshot AS since, c.until::pg_snapshot AS until, c.pos
    FROM unnest($1::smallint[], $2::text[], $3::text[], $4::bigint[])
        WITH ORDINALITY AS c (lane, since, until, pos, place)
),
server AS (
    -- A visible row of a transaction that this statement's own snapshot does not know of yet was written in another
    -- database.
    SELECT pg_current_snapshot()::text AS seen, pg_is_in_recovery() AS in_recovery, EXISTS (
        SELECT FROM cursors AS c
        CROSS JOIN LATERAL (
            SELECT FROM onefold_events AS e
            WHERE e.lane = c.lane AND e.txid >= pg_snapshot_xmax(pg_current_snapshot())
            LIMIT 1
        ) AS unknown
    ) AS restored
), found AS (
    SELECT
        c.place, w.wanted, e.txid::text AS txid, e.seq, e.id::text AS id, e.tenant, e.aggregate_type, e.aggregate_id,
        e.event_type, e.schema_version, e.created_at, CASE WHEN w.wanted THEN e.payload END AS payload,
        e.content_type, CASE WHEN w.wanted THEN e.headers END AS headers, e.correlation_id
    FROM cursors AS c
    CROSS JOIN LATERAL (
        SELECT e.* FROM onefold_events AS e
        WHERE e.lane = c.lane AND e.txid >= pg_snapshot_xmax(c.since)
            AND e.txid < coalesce(pg_snapshot_xmax(c.until), '18446744073709551615'::xid8)
        UNION ALL
        SELECT e.* FROM pg_snapshot_xip(c.since) AS running (txid)
        JOIN onefold_events AS e ON e.lane = c.lane AND e.txid = running.txid
    ) AS e
    CROSS JOIN LATERAL (
        SELECT e.event_type = ANY($5::text[]) OR EXISTS (
            SELECT FROM unnest($6::text[]) AS p (prefix)
            WHERE starts_with(e.event_type, p.prefix) AND length(e.event_type) > length(p.prefix)
        ) AS wanted
        OFFSET 0
    ) AS w
    WHERE c.until IS NULL OR (e.seq > c.pos AND pg_visible_in_snapshot(e.txid, c.until))
    LIMIT $7
)
SELECT
    seen, in_recovery, restored, NULL::bigint AS place, NULL::boolean AS wanted, NULL::text AS txid,
    NULL::bigint AS seq, NULL::text AS id, NULL::text AS tenant, NULL::text AS aggregate_type,
    NULL::text AS aggregate_id, NULL::text AS event_type, NULL::integer AS schema_version, NULL::bigint AS created_at,
    NULL::bytea AS payload, NULL::text AS content_type, NULL::text AS headers, NULL::text AS correlation_id
FROM server
UNION ALL
SELECT NULL, NULL, NULL, found.* FROM found
