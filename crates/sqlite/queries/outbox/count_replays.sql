-- Replays of a relay that have not ended.
SELECT count(*) AS replays
FROM onefold_replays
WHERE relay = ?1 AND state = 'RUNNING'
