-- Takes the highest time seen back to the present, where no lease, retry or question was timed by it.
UPDATE onefold_clock SET highest = ?1 WHERE id = 1 AND NOT EXISTS (
    SELECT 1 FROM onefold_operations
    WHERE status IN ('STARTED', 'FAILED_RETRYABLE') OR next_ask_at IS NOT NULL OR escalate_at IS NOT NULL
)
