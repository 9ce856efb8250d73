-- The number of the last event; what was pruned counts, because its number does not come back.
SELECT coalesce((SELECT max(seq) FROM onefold_events), 0) AS seq
