-- The fingerprint keys, the newest first.
SELECT id, secret FROM onefold_keys ORDER BY id DESC
