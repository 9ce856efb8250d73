INSERT INTO onefold_relay_pages (relay, lane, seq_from, seq_to, settled_at, passed, on_time)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO NOTHING
