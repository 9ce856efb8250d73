-- Renews the oldest replay of a relay, or takes it where its lease is over.
WITH first AS MATERIALIZED (
    SELECT p.id FROM onefold_replays AS p
    WHERE p.relay = $1 AND p.state = 'RUNNING'
    ORDER BY p.requested_at, p.id
    LIMIT 1
    FOR UPDATE
)
UPDATE onefold_replays AS p
SET fence = p.fence + (p.holder IS DISTINCT FROM $2)::int, holder = $2, lease_until = $3
FROM first
WHERE p.id = first.id AND p.state = 'RUNNING' AND (p.holder IS NULL OR p.holder = $2 OR p.lease_until <= $4)
RETURNING
    p.id, p.relay, p.tenant, p.event_type, p.staged_from, p.staged_to, p.aggregate_type, p.aggregate_id, p.events_max, p.rate, p.who, p.why, p.requested_at, p.state, p.pos, p.last, p.published, p.refused, p.refusals, p.ended_at, p.fence
