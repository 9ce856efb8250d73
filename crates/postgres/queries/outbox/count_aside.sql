-- Events that are parked, and those that are tried again or wait behind one.
SELECT
    count(*) FILTER (WHERE status = 'PARKED') AS parked,
    count(*) FILTER (WHERE status IN ('WAITING', 'BEHIND')) AS waiting
FROM onefold_events_aside
WHERE relay = $1 AND status IN ('WAITING', 'BEHIND', 'PARKED')
