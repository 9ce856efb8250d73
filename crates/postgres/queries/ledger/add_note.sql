-- Things that were said of operations; each parameter is a column.
INSERT INTO onefold_notes ({note})
SELECT * FROM unnest({note: $#::&[]})
