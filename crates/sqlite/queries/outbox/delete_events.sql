DELETE FROM onefold_events
WHERE seq = ?1
