-- The ledger's tables and their columns.
SELECT m.name, p.name
FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS p
WHERE m.type = 'table' AND m.name LIKE 'onefold\_%' ESCAPE '\'
ORDER BY m.name, p.cid
