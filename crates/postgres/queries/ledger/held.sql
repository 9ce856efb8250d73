-- What the perform of an installation holds.
SELECT o.tenant, o.kind, o.operation_id
FROM onefold_leases AS l JOIN onefold_operations AS o ON o.seq = ANY (l.seqs)
WHERE o.status = 'STARTED' AND o.installation = $1
ORDER BY l.due_at, l.id LIMIT $2
