-- Adds a token, or replaces the one of that name.
INSERT INTO onefold_tokens (name, role, tenant, digest, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (name) DO UPDATE SET
    role = excluded.role, tenant = excluded.tenant, digest = excluded.digest, created_at = excluded.created_at
