-- Operations of a kind whose id may be forgotten. What is open, or has an open incident, never is.
SELECT {operation}
FROM onefold_operations
WHERE kind = $1 AND completed_at IS NOT NULL AND completed_at <= $2
    AND status IN ('COMPLETED', 'FAILED_FINAL') AND incident_id IS NULL
ORDER BY completed_at LIMIT $3
