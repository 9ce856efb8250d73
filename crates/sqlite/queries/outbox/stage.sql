-- An event; one whose id is there stays as it is, and nothing is returned.
INSERT INTO onefold_events (
    id, tenant, aggregate_type, aggregate_id, event_type, schema_version, created_at, payload, content_type, headers,
    correlation_id
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (id) DO NOTHING
RETURNING seq
