-- Incidents that a sink has not heard of, and closed ones whose opening it has heard of; oldest first.
SELECT event, body FROM (
    SELECT 'opened' AS event, i.body, i.seq FROM onefold_incidents AS i
    WHERE i.closed_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM onefold_told AS t WHERE t.sink = $1 AND t.incident_id = i.id)
    UNION ALL
    SELECT 'closed', i.body, i.seq FROM onefold_told AS t JOIN onefold_incidents AS i ON i.id = t.incident_id
    WHERE t.sink = $1 AND t.event = 'opened' AND t.delivered = 1 AND i.closed_at IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM onefold_told AS c WHERE c.sink = $1 AND c.incident_id = i.id AND c.event = 'closed'
        )
) AS news ORDER BY seq LIMIT $2
