-- Relays are declared by one process at a time.
LOCK TABLE onefold_relays IN SHARE ROW EXCLUSIVE MODE
