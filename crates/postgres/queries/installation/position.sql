-- How far the ledger has come, and whether it is a backup that nobody has accepted.
SELECT mark, marked_at, copied_at FROM onefold_position WHERE id = 1
