-- An attempt that is over; what is known of it later replaces what was known before.
INSERT INTO onefold_attempts (
    tenant, kind, operation_id, fence, attempt_id, worker, started_at, deadline, last_alive_at, ended_at,
    ending, status, error_code, category, side_effect_status, recorded, evidence_ref
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17
) ON CONFLICT (tenant, kind, operation_id, fence) DO UPDATE SET
    last_alive_at = excluded.last_alive_at, ended_at = excluded.ended_at, ending = excluded.ending,
    status = excluded.status, error_code = excluded.error_code, category = excluded.category,
    side_effect_status = excluded.side_effect_status, recorded = excluded.recorded,
    evidence_ref = excluded.evidence_ref
