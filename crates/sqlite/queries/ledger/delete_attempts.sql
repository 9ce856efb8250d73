-- Forgets the attempts of one operation.
DELETE FROM onefold_attempts WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
