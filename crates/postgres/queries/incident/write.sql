-- Incidents as they stand now; each parameter is a column.
INSERT INTO onefold_incidents (
    id, tenant, kind, operation_id, group_key, error_code, first_seen, last_seen, closed_at, body, category
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::text[], $11::text[]
)
ON CONFLICT (id) DO UPDATE SET
    group_key = excluded.group_key, error_code = excluded.error_code, last_seen = excluded.last_seen,
    closed_at = excluded.closed_at, body = excluded.body, category = excluded.category
