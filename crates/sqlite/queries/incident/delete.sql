-- Forgets the closed incidents of one operation.
DELETE FROM onefold_incidents
WHERE tenant = ?1 AND subject = 'OPERATION' AND kind = ?2 AND subject_id = ?3 AND closed_at IS NOT NULL
