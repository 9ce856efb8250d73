-- Completes what its holders were granted, where the rows still are those grants; each parameter is a column.
SELECT * FROM onefold_settle_{version}({operation.settling: $#})
