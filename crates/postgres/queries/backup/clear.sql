-- Empties a table before its rows come from a backup.
DELETE FROM :table
