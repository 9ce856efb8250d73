-- A replay of a tenant, locked.
SELECT
    id, relay, tenant, event_type, staged_from, staged_to, aggregate_type, aggregate_id, events_max, rate, who, why,
    requested_at, state, pos, last, published, refused, refusals, ended_at, fence
FROM onefold_replays
WHERE id = $1 AND tenant = $2
FOR UPDATE
