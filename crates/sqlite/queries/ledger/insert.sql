-- A new operation; the parameters are its columns.
INSERT INTO onefold_operations ({operation}) VALUES ({operation: ?#})
