-- Incidents, newest first.
SELECT body, seq FROM onefold_incidents
WHERE tenant = $1
    AND ($2::text IS NULL OR id = $2)
    AND ($3::bigint = 0 OR closed_at IS NULL)
    AND ($4::text IS NULL OR subject = $4)
    AND ($5::text IS NULL OR kind = $5)
    AND ($6::text IS NULL OR group_key = $6)
    AND seq < coalesce($7, 9223372036854775807)
ORDER BY seq DESC LIMIT $8
