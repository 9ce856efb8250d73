-- A row from a backup.
INSERT INTO :table (:columns) VALUES (:values)
