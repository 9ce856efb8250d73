-- Completes what its holders were granted, and says which: what differs from the grant, and nothing else. Only rows
-- that still are the grant that the decision was made on are written. Their plan is made once and must fit for ever:
-- rows are found through their key, whatever is believed of the table (an index's entries are made to look dear, so
-- that reading few is always better than reading all).
CREATE OR REPLACE FUNCTION onefold_settle_{version}(
    {operation.settling: p_@ &[]}
) RETURNS TABLE (tenant text, kind text, operation_id text)
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET lock_timeout = '5s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET cpu_index_tuple_cost = 1000
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE onefold_operations AS o SET {operation.settled: @ = r.@}
    FROM unnest({operation.settling: p_@}) AS r ({operation.settling})
    WHERE o.operation_id = r.operation_id AND o.kind = r.kind AND o.tenant = r.tenant
        AND o.status = 'STARTED' AND o.fence = r.fence AND o.attempt_id = r.attempt_id
        AND o.incident_id IS NULL
    RETURNING o.tenant, o.kind, o.operation_id;
END
$$;
