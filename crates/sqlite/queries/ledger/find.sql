-- The entry of one operation.
SELECT {operation}
FROM onefold_operations
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
