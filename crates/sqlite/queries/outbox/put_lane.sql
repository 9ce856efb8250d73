-- The place of a relay, made or set anew; its holder loses it.
INSERT INTO onefold_relay_lanes (relay, lane, fence, lease_until, since, pos, judged, refused)
VALUES (?1, 0, 0, 0, ?2, 0, 0, '{}')
ON CONFLICT (relay, lane) DO UPDATE SET
    fence = fence + 1,
    holder = NULL,
    lease_until = 0,
    since = excluded.since,
    until = NULL,
    pos = 0,
    judged = 0,
    refused = '{}',
    stopped_at = NULL,
    stopped_code = NULL
