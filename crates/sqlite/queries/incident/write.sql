-- An incident as it stands now.
INSERT INTO onefold_incidents (
    id, tenant, kind, operation_id, group_key, error_code, first_seen, last_seen, closed_at, body
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (id) DO UPDATE SET
    group_key = excluded.group_key, error_code = excluded.error_code, last_seen = excluded.last_seen,
    closed_at = excluded.closed_at, body = excluded.body
