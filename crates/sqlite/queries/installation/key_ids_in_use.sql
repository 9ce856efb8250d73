-- The fingerprint keys that the oldest and the newest operations were made with.
SELECT fingerprint_key_id FROM (SELECT fingerprint_key_id FROM onefold_operations ORDER BY seq LIMIT 1000)
UNION
SELECT fingerprint_key_id FROM (SELECT fingerprint_key_id FROM onefold_operations ORDER BY seq DESC LIMIT 1000)
