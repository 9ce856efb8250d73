-- Raises the mark past what was remembered, and says what it is then.
UPDATE onefold_position SET mark = greatest(mark, $1) + 1, marked_at = $2 WHERE id = 1 RETURNING mark
