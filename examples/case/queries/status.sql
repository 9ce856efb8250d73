SELECT status FROM cases WHERE id = ?1
