-- Operations of which nobody knows the outcome, by category. Each has a question or an incident.
SELECT details::json ->> 'category' AS category, count(*) AS counted
FROM onefold_operations
WHERE status = 'UNKNOWN' AND (next_ask_at IS NOT NULL OR incident_id IS NOT NULL)
GROUP BY 1
