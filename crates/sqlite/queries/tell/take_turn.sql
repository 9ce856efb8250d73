-- Takes a turn that is free or over, or renews one's own.
INSERT INTO onefold_turns (sink, holder, until) VALUES (?1, ?2, ?3)
ON CONFLICT (sink) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE onefold_turns.holder = excluded.holder OR onefold_turns.until <= ?4
