-- Grants an operation unless there is one under this key; the parameters are what a grant writes.
INSERT INTO onefold_operations ({operation.granted}) VALUES ({operation.granted: ?#})
ON CONFLICT (operation_id, kind, tenant) DO NOTHING
