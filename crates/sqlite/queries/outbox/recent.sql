-- What a relay passed since ?2, and how much of it was in time.
SELECT coalesce(sum(passed), 0) AS passed, coalesce(sum(on_time), 0) AS on_time
FROM onefold_relay_pages INDEXED BY onefold_relay_pages_settled
WHERE relay = ?1 AND settled_at >= ?2
