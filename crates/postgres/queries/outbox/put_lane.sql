-- The places of a relay, made or set anew; their holders lose them.
INSERT INTO onefold_relay_lanes AS l (relay, lane, since)
SELECT $1::text, n.lane, $2::text::pg_snapshot FROM generate_series(0, 63) AS n (lane)
ON CONFLICT (relay, lane) DO UPDATE SET
    fence = l.fence + 1,
    holder = NULL,
    lease_until = 0,
    since = excluded.since,
    until = NULL,
    pos = 0,
    judged = 0,
    refused = '{}',
    stopped_at = NULL,
    stopped_code = NULL
