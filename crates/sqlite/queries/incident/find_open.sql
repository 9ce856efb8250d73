-- The open incident of one subject.
SELECT body FROM onefold_incidents
WHERE tenant = ?1 AND subject = ?2 AND kind = ?3 AND subject_id = ?4 AND closed_at IS NULL
