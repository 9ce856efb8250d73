-- Locks aggregates in one order until the transaction ends, as `stage_ordered` of any language does. The pair of numbers
-- is a lock space apart from the ledger's; two aggregates with one number only wait for each other.
WITH keys AS MATERIALIZED (
    SELECT DISTINCT hashtext(k.aggregate_id || chr(10) || k.aggregate_type || chr(10) || k.tenant) AS key
    FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, aggregate_type, aggregate_id)
    ORDER BY 1
)
SELECT pg_advisory_xact_lock('onefold_events'::regclass::oid::int, keys.key) FROM keys
