-- An event by its id.
SELECT
    seq, id::text AS id, tenant, aggregate_type, aggregate_id, event_type, schema_version, created_at, payload,
    content_type, headers, correlation_id
FROM onefold_events
WHERE id = $1::text::uuid
