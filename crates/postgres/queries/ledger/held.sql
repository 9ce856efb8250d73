-- What the perform of an installation holds.
SELECT tenant, kind, operation_id FROM onefold_operations
WHERE status = 'STARTED' AND installation = $1
ORDER BY lease_until LIMIT $2
