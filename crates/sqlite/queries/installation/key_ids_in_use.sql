-- The fingerprint keys that the oldest and the newest operations were made with.
SELECT terms ->> 1 FROM (SELECT terms FROM onefold_operations ORDER BY seq LIMIT 1000)
UNION
SELECT terms ->> 1 FROM (SELECT terms FROM onefold_operations ORDER BY seq DESC LIMIT 1000)
