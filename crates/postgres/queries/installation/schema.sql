-- Makes the schema that was chosen.
CREATE SCHEMA IF NOT EXISTS ":schema"
