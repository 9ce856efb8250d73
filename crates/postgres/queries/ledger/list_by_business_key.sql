-- Operations of one business key, newest first; through its index.
SELECT {operation}, seq
FROM onefold_operations
WHERE tenant = $1 AND business_key = $4
    AND ($5::text IS NULL OR process_instance_key = $5)
    AND ($2::text IS NULL OR kind = $2)
    AND ($3::text IS NULL OR status = $3)
    AND ($6::text IS NULL OR details::json ->> 'error_code' = $6)
    AND ($11::text IS NULL OR operation_id = $11)
    AND ($7::bigint IS NULL OR created_at >= $7)
    AND ($8::bigint IS NULL OR created_at < $8)
    AND seq < coalesce($9, 9223372036854775807)
ORDER BY seq DESC LIMIT $10
