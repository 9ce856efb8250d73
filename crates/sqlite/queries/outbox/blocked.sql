-- Aggregates of which an event is set aside.
SELECT DISTINCT lane, tenant, aggregate_type, aggregate_id
FROM onefold_events_aside
WHERE relay = ?1 AND status IN ('WAITING', 'BEHIND', 'PARKED')
