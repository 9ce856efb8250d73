-- Where wanted events lie beyond the cursors of some lanes, the lowest numbers first, and how many are not wanted; as it
-- is in one snapshot, which the first row tells, with the number of all that are wanted. A lane that has any shows its
-- first one, however many lie before it in others: it must not look done.
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
), found AS MATERIALIZED (
    SELECT c.place, w.wanted, e.txid, e.seq
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
), places AS (
    (SELECT found.place, found.txid, found.seq FROM found WHERE found.wanted ORDER BY found.seq LIMIT $7)
    UNION
    (
        SELECT DISTINCT ON (found.place) found.place, found.txid, found.seq
        FROM found
        WHERE found.wanted
        ORDER BY found.place, found.seq
    )
)
SELECT
    seen, in_recovery, restored, (SELECT count(*) FROM found WHERE found.wanted) AS wanted_in_all,
    NULL::bigint AS place, NULL::bigint AS unwanted, NULL::text AS txid, NULL::bigint AS seq
FROM server
UNION ALL
SELECT NULL, NULL, NULL, NULL, found.place, count(*), NULL, NULL
FROM found
WHERE NOT found.wanted
GROUP BY found.place
UNION ALL
SELECT NULL, NULL, NULL, NULL, places.place, NULL, places.txid::text, places.seq FROM places
