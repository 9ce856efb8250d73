DELETE FROM onefold_events_aside
WHERE seq = ?1
