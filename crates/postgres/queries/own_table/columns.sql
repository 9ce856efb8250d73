-- The columns of a table, what each holds, and whether a unique index on it alone finds one row.
SELECT
    a.attname::text AS name,
    format_type(a.atttypid, NULL) AS type,
    EXISTS (
        SELECT FROM pg_index AS i
        WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indpred IS NULL AND i.indnkeyatts = 1
            AND i.indkey[0] = a.attnum
    ) AS unique_alone
FROM pg_attribute AS a
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
