-- Operations with one id, of whatever kind; through the key's index.
SELECT {operation}, seq
FROM onefold_operations
WHERE operation_id = $11 AND tenant = $1
    AND ($4::text IS NULL OR business_key = $4)
    AND ($5::text IS NULL OR process_instance_key = $5)
    AND ($2::text IS NULL OR kind = $2)
    AND ($3::text IS NULL OR status = $3)
    AND ($6::text IS NULL OR details::json ->> 'error_code' = $6)
    AND ($7::bigint IS NULL OR created_at >= $7)
    AND ($8::bigint IS NULL OR created_at < $8)
    AND seq < coalesce($9, 9223372036854775807)
ORDER BY seq DESC LIMIT $10
