-- The leases of what is in flight, for the sweeper: a backup does not hold the table of them.
WITH forgotten AS (
    DELETE FROM onefold_leases
)
INSERT INTO onefold_leases (due_at, seqs)
SELECT min(lease_until), array_agg(seq) FROM onefold_operations WHERE status = 'STARTED' GROUP BY seq / 64
