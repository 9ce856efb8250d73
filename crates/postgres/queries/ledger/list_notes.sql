-- What was said of one operation.
SELECT {note}
FROM onefold_notes
WHERE tenant = $1 AND kind = $2 AND operation_id = $3
ORDER BY seq
