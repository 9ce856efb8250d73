-- Renews the oldest replay of a relay, or takes it where its lease is over.
UPDATE onefold_replays
SET fence = fence + (holder IS NOT ?2), holder = ?2, lease_until = ?3
WHERE id = (SELECT id FROM onefold_replays WHERE relay = ?1 AND state = 'RUNNING' ORDER BY requested_at, id LIMIT 1)
    AND (holder IS ?2 OR holder IS NULL OR lease_until <= ?4)
RETURNING
    id, relay, tenant, event_type, staged_from, staged_to, aggregate_type, aggregate_id, events_max, rate, who, why,
    requested_at, state, pos, last, published, refused, refusals, ended_at, fence
