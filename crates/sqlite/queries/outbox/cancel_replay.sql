-- A person ended a replay; its holder writes nothing more.
UPDATE onefold_replays
SET state = ?2, ended_at = ?3, fence = ?4
WHERE id = ?1
