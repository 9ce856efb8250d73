-- The rows of a table, in the order in which they were added.
SELECT :columns FROM :table ORDER BY 1
