-- Pages before everything that is kept.
DELETE FROM onefold_relay_pages
WHERE seq_to < (SELECT coalesce(min(seq), 0) FROM onefold_events) AND settled_at < ?1
