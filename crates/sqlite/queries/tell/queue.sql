-- Puts one incident into an announcement.
INSERT INTO onefold_told (sink, incident_id, event, announcement, queued_at, delivered) VALUES (?1, ?2, ?3, ?4, ?5, 0)
ON CONFLICT (sink, incident_id, event) DO NOTHING
