-- The fingerprint keys that the oldest and the newest operations were made with.
(SELECT (terms::json ->> 1)::bigint FROM (SELECT terms FROM onefold_operations ORDER BY seq LIMIT 1000) AS oldest)
UNION
(SELECT (terms::json ->> 1)::bigint FROM (SELECT terms FROM onefold_operations ORDER BY seq DESC LIMIT 1000) AS newest)
