-- Unknown operations whose question is due; ?2 is a JSON list of the kinds that can be asked about here.
SELECT {operation}
FROM onefold_operations INDEXED BY onefold_operations_ask
WHERE next_ask_at IS NOT NULL AND next_ask_at <= ?1 AND status = 'UNKNOWN'
    AND kind IN (SELECT value FROM json_each(?2))
ORDER BY next_ask_at LIMIT ?3
