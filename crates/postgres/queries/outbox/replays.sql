-- Replays, the newest first.
SELECT
    id, relay, tenant, event_type, staged_from, staged_to, aggregate_type, aggregate_id, events_max, rate, who, why,
    requested_at, state, pos, last, published, refused, refusals, ended_at, fence
FROM onefold_replays
WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR relay = $2) AND ($3::text IS NULL OR id = $3)
ORDER BY requested_at DESC, id DESC
LIMIT $4
