-- Attempts that are over; what is known of one later replaces what was known before. Each parameter is a column.
INSERT INTO onefold_attempts (
    tenant, kind, operation_id, fence, attempt_id, worker, started_at, deadline, last_alive_at, ended_at,
    ending, status, error_code, category, side_effect_status, recorded, evidence_ref
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::text[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
    $16::bytea[], $17::text[]
)
ON CONFLICT (operation_id, kind, tenant, fence) DO UPDATE SET
    last_alive_at = excluded.last_alive_at, ended_at = excluded.ended_at, ending = excluded.ending, status =
    excluded.status, error_code = excluded.error_code, category = excluded.category, side_effect_status =
    excluded.side_effect_status, recorded = excluded.recorded, evidence_ref = excluded.evidence_ref
