-- Takes an operation for the user's own transaction; false while another transaction is at it.
SELECT pg_try_advisory_xact_lock(hashtextextended(
    $3::text || chr(10) || $2::text || chr(10) || $1::text, 'onefold_operations'::regclass::oid::bigint
))
