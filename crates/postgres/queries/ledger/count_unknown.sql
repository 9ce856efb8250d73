-- Operations of which nobody knows the outcome, by category.
SELECT details::json ->> 'category' AS category, count(*) AS counted FROM onefold_operations WHERE status = 'UNKNOWN' GROUP BY 1
