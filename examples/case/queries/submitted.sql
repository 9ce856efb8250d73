SELECT submission, answer FROM cases WHERE idempotency_key = ?1
