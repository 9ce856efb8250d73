INSERT INTO onefold_relay_pages (relay, lane, seq_from, seq_to, settled_at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO NOTHING
