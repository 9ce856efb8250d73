SELECT
    coalesce(sum(status = 'PARKED'), 0) AS parked,
    coalesce(sum(status IN ('WAITING', 'BEHIND')), 0) AS waiting
FROM onefold_events_aside
WHERE relay = ?1 AND status IN ('WAITING', 'BEHIND', 'PARKED')
