-- Whoever starts on this copy must accept it first.
UPDATE onefold_position SET copied_at = coalesce(copied_at, $1) WHERE id = 1
