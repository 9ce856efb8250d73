-- A process wants no lanes of a relay any more.
DELETE FROM onefold_relay_holders WHERE relay = $1 AND holder = $2
