INSERT INTO onefold_outbox_audit (at, relay, event_id, verb, who, why, old_digest)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
