-- Operations of a kind whose result may be dropped; the id stays.
SELECT {operation}
FROM onefold_operations
WHERE kind = $1 AND completed_at IS NOT NULL AND completed_at <= $2
    AND status = 'COMPLETED' AND result IS NOT NULL AND incident_id IS NULL
ORDER BY completed_at LIMIT $3
