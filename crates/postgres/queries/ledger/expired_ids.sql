-- Operations of a kind whose id may be forgotten. What is open, or has an open incident, never is. They
-- are looked for among those created from $3 to $4: what was completed by $2 was created before.
SELECT {operation}
FROM onefold_operations
WHERE kind = $1 AND created_at >= 0 AND created_at BETWEEN $3 AND $4
    AND completed_at IS NOT NULL AND completed_at <= $2
    AND status IN ('COMPLETED', 'FAILED_FINAL') AND incident_id IS NULL
ORDER BY created_at LIMIT $5
