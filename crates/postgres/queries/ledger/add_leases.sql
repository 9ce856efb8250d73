-- Operations whose leases the sweeper would not find in time by the rows that are there: granted again, or shortened.
INSERT INTO onefold_leases (due_at, seqs)
SELECT min(o.lease_until), array_agg(o.seq)
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, operation_id)
JOIN onefold_operations AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant
HAVING count(*) > 0
