-- Unknown operations whose question is due, of the kinds that can be asked about here.
SELECT {operation}
FROM onefold_operations
WHERE next_ask_at IS NOT NULL AND next_ask_at <= $1 AND status = 'UNKNOWN' AND kind = ANY ($2::text[])
ORDER BY next_ask_at LIMIT $3
