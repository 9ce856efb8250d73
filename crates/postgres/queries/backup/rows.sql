-- The rows of a table, a part at a time and all of one time.
DECLARE onefold_rows NO SCROLL CURSOR FOR SELECT :columns FROM :table ORDER BY 1
