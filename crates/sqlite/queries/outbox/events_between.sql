-- Events after one number up to another, in their order.
SELECT
    seq, id, tenant, aggregate_type, aggregate_id, event_type, schema_version, created_at, payload, content_type,
    headers, correlation_id
FROM onefold_events
WHERE seq > ?1 AND seq <= ?2
ORDER BY seq
