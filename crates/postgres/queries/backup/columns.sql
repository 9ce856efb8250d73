-- The ledger's tables, their columns and types.
SELECT table_name::text, column_name::text, data_type::text
FROM information_schema.columns
WHERE table_schema = coalesce($1, current_schema()) AND table_name LIKE 'onefold\_%'
ORDER BY table_name, ordinal_position
