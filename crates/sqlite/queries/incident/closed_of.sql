-- The closed incidents of one operation, the oldest first.
SELECT body FROM onefold_incidents
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3 AND closed_at IS NOT NULL
ORDER BY seq
