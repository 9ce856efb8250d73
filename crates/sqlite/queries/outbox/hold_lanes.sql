-- Renews the lane, or takes it where its lease is over.
UPDATE onefold_relay_lanes
SET fence = fence + (holder IS NOT ?2), holder = ?2, lease_until = ?3
WHERE relay = ?1 AND (holder IS ?2 OR holder IS NULL OR lease_until <= ?4)
RETURNING lane, fence, since, until, pos, judged, refused, stopped_code
