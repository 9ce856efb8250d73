-- The event with this number.
SELECT
    seq, id, tenant, aggregate_type, aggregate_id, event_type, schema_version, created_at, payload, content_type,
    headers, correlation_id
FROM onefold_events
WHERE seq = ?1
