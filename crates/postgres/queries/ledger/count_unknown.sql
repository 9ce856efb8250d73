-- Operations of which nobody knows the outcome, by category.
SELECT category, count(*) FROM onefold_operations WHERE status = 'UNKNOWN' GROUP BY category
