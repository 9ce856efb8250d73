-- Open incidents, by category.
SELECT json_extract(body, '$.category'), count(*) FROM onefold_incidents WHERE closed_at IS NULL GROUP BY 1
