SELECT id, title, subject, submitted_by, status, submitted_at FROM cases WHERE id = ?1
