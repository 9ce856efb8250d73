-- Raises the mark past what was remembered.
UPDATE onefold_position SET mark = max(mark, ?1) + 1, marked_at = ?2 WHERE id = 1
