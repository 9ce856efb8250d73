-- Operations, newest first: walked by their sequence, so that a page stops when it is full.
SELECT {operation}, seq
FROM onefold_operations NOT INDEXED
WHERE tenant = ?1
    AND (?4 IS NULL OR business_key = ?4)
    AND (?5 IS NULL OR process_instance_key = ?5)
    AND (?2 IS NULL OR kind = ?2)
    AND (?3 IS NULL OR status = ?3)
    AND (?6 IS NULL OR details ->> 'error_code' = ?6)
    AND (?11 IS NULL OR operation_id = ?11)
    AND (?7 IS NULL OR created_at >= ?7)
    AND (?8 IS NULL OR created_at < ?8)
    AND seq < coalesce(?9, 9223372036854775807)
ORDER BY seq DESC LIMIT ?10
