-- Everything of a demo on PostgreSQL; the name is the demo's own.
DROP SCHEMA {schema} CASCADE
