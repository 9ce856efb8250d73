-- Every token.
SELECT name, role, tenant, digest, created_at FROM onefold_tokens ORDER BY name
