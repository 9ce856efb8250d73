-- The open incidents of these subjects, which are all of one sort.
SELECT o.body FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, kind, subject_id)
JOIN onefold_incidents AS o
    ON o.subject_id = k.subject_id AND o.kind = k.kind AND o.subject = $4 AND o.tenant = k.tenant
WHERE o.closed_at IS NULL
