-- Deletes from a slice of the oldest events those that were staged before a time and that every relay that wants them has
-- passed, but for what is set aside and has not ended. How many went, where the next slice begins, and how many of this
-- one are old.
WITH slice AS MATERIALIZED (
    SELECT e.seq, e.txid, e.lane, e.id, e.event_type, e.created_at FROM onefold_events AS e
    WHERE e.seq > $1
    ORDER BY e.seq
    LIMIT $2
), prunable AS MATERIALIZED (
    SELECT s.seq FROM slice AS s
    WHERE s.created_at < $3
        AND NOT EXISTS (
            SELECT FROM onefold_relays AS r
            JOIN onefold_relay_lanes AS l ON l.relay = r.name AND l.lane = s.lane
            WHERE r.retired_at IS NULL AND NOT onefold_passed(l.since, l.until, l.pos, s.txid, s.seq)
                AND onefold_wants(r.events, s.event_type)
        )
        AND NOT EXISTS (
            SELECT FROM onefold_events_aside AS a JOIN onefold_relays AS r ON r.name = a.relay
            WHERE a.event_id = s.id AND a.status IN ('WAITING', 'BEHIND', 'PARKED') AND r.retired_at IS NULL
        )
    ORDER BY s.seq
    LIMIT $4
), deleted AS (
    DELETE FROM onefold_events AS e USING prunable AS p WHERE e.seq = p.seq RETURNING e.id
), forgotten AS (
    DELETE FROM onefold_events_aside AS a USING deleted AS d WHERE a.event_id = d.id
)
SELECT
    (SELECT count(*) FROM deleted) AS deleted,
    CASE
        WHEN (SELECT count(*) FROM prunable) < $4 THEN (SELECT max(s.seq) FROM slice AS s)
        ELSE (SELECT max(p.seq) FROM prunable AS p)
    END AS last,
    (SELECT count(*) FROM slice AS s WHERE s.created_at < $3) AS old
