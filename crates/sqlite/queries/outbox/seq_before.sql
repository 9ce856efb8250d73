-- The last number that was staged before a time.
SELECT coalesce(max(seq), 0) AS seq
FROM onefold_events
WHERE created_at < ?1
