-- Events in the order in which they are given; those whose id is there stay as they are, and are not returned.
INSERT INTO onefold_events AS e (
    id, tenant, aggregate_type, aggregate_id, event_type, schema_version, created_at, payload, content_type, headers,
    correlation_id
)
SELECT
    n.id::uuid, n.tenant, n.aggregate_type, n.aggregate_id, n.event_type, n.schema_version,
    coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), n.payload, n.content_type,
    n.headers, n.correlation_id
FROM unnest(
    $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::bytea[], $9::text[], $10::text[],
    $11::text[]
) WITH ORDINALITY AS n (
    id, tenant, aggregate_type, aggregate_id, event_type, schema_version, payload, content_type, headers,
    correlation_id, place
)
ORDER BY n.place
ON CONFLICT (id) DO NOTHING
RETURNING e.id::text AS id, e.seq
