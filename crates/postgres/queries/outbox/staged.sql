-- Events with these ids as they are staged: whether each is the given one, and whether this transaction wrote it.
SELECT
    e.id::text AS id,
    e.seq,
    e.event_type = n.event_type AND e.tenant = n.tenant AND e.aggregate_type = n.aggregate_type
        AND e.aggregate_id = n.aggregate_id AND e.schema_version = n.schema_version AND e.payload = n.payload
        AND e.content_type = n.content_type AS same,
    coalesce(e.txid = pg_current_xact_id_if_assigned(), false) AS wrote_here
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::bytea[], $8::text[]
) AS n (id, tenant, aggregate_type, aggregate_id, event_type, schema_version, payload, content_type)
JOIN onefold_events AS e ON e.id = n.id::uuid
