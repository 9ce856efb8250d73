-- Silent holders: at most $5 operations whose lease is over, among the leases that $4 rows behind ($2, $3) speak of; then
-- the place of the last of these rows, if there are so many. Rows that another sweeper looks at are left out. What is
-- not in flight any more is taken out of the rows, whatever becomes of the rest: if it is granted meanwhile, it is in a
-- row of that grant. $6 and $7 are the known kinds and their clock slacks in microseconds, $8 the slack of all others.
WITH due AS MATERIALIZED (
    SELECT due_at, id, seqs FROM onefold_leases
    WHERE due_at <= $1 AND (due_at, id) > ($2, $3)
    ORDER BY due_at, id LIMIT $4
    FOR UPDATE SKIP LOCKED
), looked_at AS MATERIALIZED (
    SELECT due.due_at, due.id, due.seqs, in_flight.*
    FROM due CROSS JOIN LATERAL (
        SELECT
            min(o.lease_until) AS next_due_at,
            array_agg(o.seq) AS left_seqs,
            array_agg(o.seq) FILTER (
                WHERE o.lease_until + coalesce(
                    (SELECT s.slack FROM unnest($6::text[], $7::bigint[]) AS s (kind, slack) WHERE s.kind = o.kind), $8
                ) <= $1
            ) AS expired_seqs
        FROM onefold_operations AS o
        WHERE o.seq = ANY (due.seqs) AND o.status = 'STARTED'
    ) AS in_flight
), ended AS (
    DELETE FROM onefold_leases AS l USING looked_at
    WHERE l.due_at = looked_at.due_at AND l.id = looked_at.id AND looked_at.left_seqs IS NULL
), put_off AS (
    UPDATE onefold_leases AS l SET due_at = looked_at.next_due_at, seqs = looked_at.left_seqs
    FROM looked_at
    WHERE l.due_at = looked_at.due_at AND l.id = looked_at.id
        AND (looked_at.next_due_at <> looked_at.due_at OR cardinality(looked_at.left_seqs) < cardinality(looked_at.seqs))
)
(
    SELECT o.tenant, o.kind, o.operation_id, NULL::bigint AS due_at, NULL::bigint AS id
    FROM looked_at JOIN onefold_operations AS o ON o.seq = ANY (looked_at.expired_seqs)
    LIMIT $5
)
UNION ALL
(
    SELECT NULL, NULL, NULL, due_at, id FROM looked_at ORDER BY due_at, id OFFSET $4 - 1
)
