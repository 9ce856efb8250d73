INSERT INTO cases (id, idempotency_key, title, subject, submitted_by, status, submitted_at, submission, answer)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
