-- Open incidents by cause, the largest first, each with its oldest incident.
SELECT group_key, count(*), min(first_seen), max(last_seen), body
FROM (SELECT * FROM onefold_incidents WHERE tenant = ?1 AND closed_at IS NULL ORDER BY first_seen DESC, seq DESC)
GROUP BY group_key
ORDER BY count(*) DESC, group_key
LIMIT 1000
