-- Open incidents by cause, the largest first, each with its oldest incident.
SELECT group_key, count(*) AS incidents, min(first_seen) AS first_seen, max(last_seen) AS last_seen, (
    SELECT body FROM onefold_incidents AS oldest
    WHERE oldest.group_key = incidents.group_key AND oldest.tenant = $1 AND oldest.closed_at IS NULL
    ORDER BY oldest.first_seen, oldest.seq LIMIT 1
) AS body
FROM onefold_incidents AS incidents
WHERE tenant = $1 AND closed_at IS NULL
GROUP BY group_key
ORDER BY count(*) DESC, group_key
LIMIT 1000
