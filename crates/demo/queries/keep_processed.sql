INSERT INTO processed (operation_id, outcome) VALUES (?1, ?2) ON CONFLICT DO NOTHING
