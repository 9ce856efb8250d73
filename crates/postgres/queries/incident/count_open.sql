-- Open incidents, by category.
SELECT category, count(*) FROM onefold_incidents WHERE closed_at IS NULL GROUP BY category
