-- Rows from a backup, a parameter a column.
INSERT INTO :table (:columns) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(:values)
