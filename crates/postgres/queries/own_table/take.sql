-- Takes rows of a team's own table that are due, the oldest first, and puts them off until a lease ends. The names in
-- angle brackets are quoted names of the declaration.
WITH due AS MATERIALIZED (
    SELECT t.<id> AS id FROM <table> AS t
    WHERE t.<published_at> IS NULL
        AND (t.<next_attempt_at> IS NULL OR t.<next_attempt_at> <= timestamptz 'epoch' + $1 * interval '1 microsecond')
        AND onefold_wants($3, t.<type>::text)
    ORDER BY t.<created_at>, t.<id>
    LIMIT $4
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE <table> AS t SET <next_attempt_at> = timestamptz 'epoch' + $2 * interval '1 microsecond'
    FROM due
    WHERE t.<id> = due.id
    RETURNING
        t.<id>::text AS id,
        t.<aggregate_type>::text AS aggregate_type,
        t.<aggregate_id>::text AS aggregate_id,
        t.<type>::text AS event_type,
        <payload> AS payload,
        (extract(epoch FROM t.<created_at>) * 1000000)::bigint AS created_at,
        coalesce(t.<attempts>, 0)::bigint AS attempts,
        <tenant> AS tenant,
        <schema_version> AS schema_version,
        <content_type> AS content_type,
        <headers> AS headers,
        <correlation_id> AS correlation_id
)
SELECT * FROM taken ORDER BY created_at, id
