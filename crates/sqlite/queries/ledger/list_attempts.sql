-- The past attempts of one operation.
SELECT {attempt}
FROM onefold_attempts
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
ORDER BY fence
