-- A relay as a process declares it; a retired one is back.
INSERT INTO onefold_relays (name, events, target, declared_by, declared_at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name) DO UPDATE SET
    events = excluded.events,
    target = excluded.target,
    declared_by = excluded.declared_by,
    declared_at = excluded.declared_at,
    retired_at = NULL
