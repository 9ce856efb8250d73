-- Puts incidents into an announcement.
INSERT INTO onefold_told (sink, incident_id, event, announcement, queued_at, delivered)
SELECT $1, incident_id, $3, $4, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0
FROM unnest($2::text[]) AS incident_id
ON CONFLICT (sink, incident_id, event) DO NOTHING
