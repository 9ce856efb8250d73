-- A replay that was asked for; nobody holds it.
INSERT INTO onefold_replays (
    id, relay, tenant, event_type, staged_from, staged_to, aggregate_type, aggregate_id, events_max, rate, who, why,
    requested_at, state, pos, last, published, refused, refusals, ended_at, fence,
    lease_until
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
    0
)
