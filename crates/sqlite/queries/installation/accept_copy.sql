-- A backup becomes the ledger.
UPDATE onefold_position SET copied_at = NULL WHERE id = 1
