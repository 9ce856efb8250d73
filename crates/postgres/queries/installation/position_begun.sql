-- Whether there is a ledger that counts how far it has come.
SELECT to_regclass('onefold_position') IS NOT NULL
