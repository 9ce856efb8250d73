-- The first transaction that staged an event at this time or later.
SELECT txid::text FROM onefold_events WHERE created_at >= $1 ORDER BY txid LIMIT 1
