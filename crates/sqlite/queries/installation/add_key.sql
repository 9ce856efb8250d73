-- A fingerprint key; the first process to open a new file makes it.
INSERT INTO onefold_keys (id, secret, created_at) VALUES (?1, ?2, ?3)
