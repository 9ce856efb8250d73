-- An operation after a transition; the parameters are its key, then what a transition may change.
UPDATE onefold_operations SET {operation.changing from 4: @ = ?#}
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
