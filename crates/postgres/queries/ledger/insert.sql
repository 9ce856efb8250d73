-- A new operation in the user's own transaction; the parameters are its columns. The transaction remembers
-- it until its end, so that a commit whose answer is lost can be looked for.
INSERT INTO onefold_operations ({operation}) VALUES ({operation: $#})
RETURNING set_config(
    'onefold.performed', concat_ws(chr(10), tenant, kind, operation_id, encode(attempt_id, 'hex')), true
)
