-- Operations of which nobody knows the outcome, by category.
SELECT category, count(*) AS counted FROM onefold_operations WHERE status = 'UNKNOWN' GROUP BY category
