-- Open incidents, by category.
SELECT category, count(*) AS counted FROM onefold_incidents WHERE closed_at IS NULL GROUP BY category
