-- New rows are numbered after those of the backup.
SELECT setval(pg_get_serial_sequence($1, 'seq'), (SELECT coalesce(max(seq), 0) + 1 FROM :table), false)
WHERE pg_get_serial_sequence($1, 'seq') IS NOT NULL
