-- Announcements that were not delivered, oldest first, an incident a row.
SELECT t.announcement, t.event, i.body FROM onefold_told AS t JOIN onefold_incidents AS i ON i.id = t.incident_id
WHERE t.sink = $1 AND t.delivered = 0 AND t.announcement IN (
    SELECT announcement FROM onefold_told WHERE sink = $1 AND delivered = 0
    GROUP BY announcement ORDER BY min(queued_at), announcement LIMIT $2
)
ORDER BY t.queued_at, t.announcement, i.seq
