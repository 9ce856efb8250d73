-- The same as settle.sql for one operation, where the statement may have a name and keeps its plan.
UPDATE onefold_operations SET {operation.settled from 6: @ = $#}
WHERE operation_id = $3 AND kind = $2 AND tenant = $1
    AND status = 'STARTED' AND fence = $4 AND attempt_id = $5 AND incident_id IS NULL
RETURNING tenant, kind, operation_id
