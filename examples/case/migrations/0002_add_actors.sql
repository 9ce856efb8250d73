INSERT OR IGNORE INTO case_actors (id, standing)
VALUES ('officer-1', 'ACTIVE'), ('officer-2', 'ACTIVE'), ('officer-3', 'SUSPENDED');
