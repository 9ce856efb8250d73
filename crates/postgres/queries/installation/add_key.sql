-- A fingerprint key; the first process on a new database makes it, and the others take what it made.
INSERT INTO onefold_keys (id, secret, created_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING
