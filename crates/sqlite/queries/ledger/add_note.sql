-- Something that was said of an operation.
INSERT INTO onefold_notes (tenant, kind, operation_id, at, who, what, why, fence)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
