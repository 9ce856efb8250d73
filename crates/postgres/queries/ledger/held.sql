-- What the perform of an installation holds.
SELECT o.tenant, o.kind, o.operation_id
FROM onefold_leases AS l JOIN onefold_operations AS o ON o.seq = ANY (l.seqs)
WHERE o.status = 'STARTED' AND o.installation = $1
LIMIT $2
