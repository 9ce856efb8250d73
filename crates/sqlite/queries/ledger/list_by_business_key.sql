-- Operations of one business key, newest first; through its index.
SELECT {operation}, seq
FROM onefold_operations INDEXED BY onefold_operations_business_key
WHERE tenant = ?1 AND business_key = ?4
    AND (?5 IS NULL OR process_instance_key = ?5)
    AND (?2 IS NULL OR kind = ?2)
    AND (?3 IS NULL OR status = ?3)
    AND (?6 IS NULL OR details ->> 'error_code' = ?6)
    AND (?11 IS NULL OR operation_id = ?11)
    AND (?7 IS NULL OR created_at >= ?7)
    AND (?8 IS NULL OR created_at < ?8)
    AND (?9 IS NULL OR seq < ?9)
ORDER BY seq DESC LIMIT ?10
