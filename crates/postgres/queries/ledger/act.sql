-- Both in one commit: completes what its holders were granted, and grants operations that are absent. The parameters
-- are those of settle.sql, then those of insert_if_absent.sql; a completed one has no time.
SELECT tenant, kind, operation_id, NULL::bigint FROM onefold_settle_{version}({operation.settling from 2: $#})
UNION ALL
SELECT tenant, kind, operation_id, granted_at
FROM onefold_claim_{version}($1, {operation.granted from 2 + settling: $#})
