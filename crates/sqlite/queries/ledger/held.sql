-- What the perform of an installation holds.
SELECT {operation}
FROM onefold_operations INDEXED BY onefold_operations_lease
WHERE status = 'STARTED' AND installation = ?1
ORDER BY lease_until LIMIT ?2
