-- Forgets the notes of one operation.
DELETE FROM onefold_notes WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
