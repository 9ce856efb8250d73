-- Whoever opens or closes the incident of a subject does so alone, until its transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(chr(31), $1::text, $2::text, $3::text, $4::text), 0))
