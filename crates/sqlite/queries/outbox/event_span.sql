-- The place before the first event that is kept, and the last place.
SELECT coalesce(min(seq), 1) - 1 AS before, coalesce(max(seq), 0) AS last
FROM onefold_events
