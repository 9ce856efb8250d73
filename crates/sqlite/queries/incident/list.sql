-- Incidents, newest first.
SELECT body, seq FROM onefold_incidents
WHERE tenant = ?1
    AND (?2 IS NULL OR id = ?2)
    AND (?3 = 0 OR closed_at IS NULL)
    AND (?4 IS NULL OR subject = ?4)
    AND (?5 IS NULL OR kind = ?5)
    AND (?6 IS NULL OR group_key = ?6)
    AND (?7 IS NULL OR seq < ?7)
ORDER BY seq DESC LIMIT ?8
