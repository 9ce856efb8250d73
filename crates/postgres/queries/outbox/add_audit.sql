-- What a person decided, and why.
INSERT INTO onefold_outbox_audit (at, relay, event_id, verb, who, why, old_digest)
VALUES ($1, $2, $3::text::uuid, $4, $5, $6, $7)
