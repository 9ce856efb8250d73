-- The first few tables and views of a schema; of the one that new tables would be in where none is named.
SELECT c.relname::text
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = coalesce($1::text, current_schema()) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
ORDER BY c.relname
LIMIT 4
