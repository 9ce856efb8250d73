-- One starter migrates; the others wait and then find it done.
SELECT pg_advisory_xact_lock(hashtextextended('onefold migrations of ' || $1::text, 0))
