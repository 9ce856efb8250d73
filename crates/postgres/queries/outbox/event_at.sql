-- The events with these numbers, in this order.
SELECT
    e.seq, e.id::text AS id, e.tenant, e.aggregate_type, e.aggregate_id, e.event_type, e.schema_version, e.created_at,
    e.payload, e.content_type, e.headers, e.correlation_id
FROM unnest($1::bigint[]) WITH ORDINALITY AS n (seq, place)
JOIN onefold_events AS e ON e.seq = n.seq
ORDER BY n.place
