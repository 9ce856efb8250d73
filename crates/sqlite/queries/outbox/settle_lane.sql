-- What a page changes at its lane, under the fence. `?4` is the last event that is done, `?5` whether the window is.
UPDATE onefold_relay_lanes
SET
    since = CASE WHEN ?5 THEN coalesce(until, since) ELSE since END,
    until = CASE WHEN ?5 THEN NULL ELSE until END,
    pos = CASE WHEN ?5 THEN 0 ELSE coalesce(?4, pos) END,
    judged = ?6,
    refused = ?7,
    stopped_at = CASE WHEN ?8 IS NULL THEN stopped_at ELSE ?9 END,
    stopped_code = coalesce(?8, stopped_code)
WHERE relay = ?1 AND lane = ?2 AND fence = ?3
