-- The open incident of one operation.
SELECT body FROM onefold_incidents
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3 AND closed_at IS NULL
