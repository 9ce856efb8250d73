-- Grants operations that are absent, and says which. Times count from p_now, or from the server's clock without it.
-- Waiting for somebody else's uncommitted operation is bounded.
CREATE OR REPLACE FUNCTION onefold_claim_{version}(
    p_now bigint,
    {operation.granted: p_@ &[]}
) RETURNS TABLE (tenant text, kind text, operation_id text, granted_at bigint)
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET lock_timeout = '250ms'
AS $$
#variable_conflict use_column
DECLARE
    v_now bigint := coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
BEGIN
    RETURN QUERY
    WITH granted AS (
        INSERT INTO onefold_operations AS o ({operation.granted})
        SELECT {operation.granted: r.@ | r.@ + v_now}
        FROM unnest({operation.granted: p_@}) AS r ({operation.granted})
        ON CONFLICT (operation_id, kind, tenant) DO NOTHING
        RETURNING o.tenant, o.kind, o.operation_id, o.created_at, o.seq, o.lease_until
    ), leased AS (
        INSERT INTO onefold_leases (due_at, seqs)
        SELECT min(granted.lease_until), array_agg(granted.seq) FROM granted HAVING count(*) > 0
    )
    SELECT granted.tenant, granted.kind, granted.operation_id, granted.created_at FROM granted;
END
$$;
