-- An operation that its holder completed: what differs from the grant, and nothing else. It writes
-- only if the row still is the grant that the decision was made on. The parameters are the key, the holder, and
-- what the completion changes.
UPDATE onefold_operations SET {operation.settled from 6: @ = ?#}
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
    AND status = 'STARTED' AND fence = ?4 AND attempt_id = ?5 AND incident_id IS NULL
