-- What was said of one operation.
SELECT at, who, what, why, fence
FROM onefold_notes
WHERE tenant = $1 AND kind = $2 AND operation_id = $3
ORDER BY seq
