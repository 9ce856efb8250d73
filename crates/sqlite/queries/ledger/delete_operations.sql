-- Forgets the operations of one operation.
DELETE FROM onefold_operations WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
