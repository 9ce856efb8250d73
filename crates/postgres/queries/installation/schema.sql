-- Makes the schema that was chosen, and looks for tables there until the transaction ends.
CREATE SCHEMA IF NOT EXISTS :schema;
SET LOCAL search_path = :schema
