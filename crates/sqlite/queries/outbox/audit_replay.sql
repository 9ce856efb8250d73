-- Who asked for a replay or ended it, and why.
INSERT INTO onefold_outbox_audit (at, relay, replay_id, verb, who, why)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
