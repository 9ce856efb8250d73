-- Operations after their transitions; each parameter is a column: the key, then what a transition may change.
UPDATE onefold_operations AS o SET
    status = r.status, class = r.class, policy = r.policy, fence = r.fence, attempt_id = r.attempt_id,
    installation = r.installation, worker = r.worker, deadline = r.deadline, lease_until = r.lease_until,
    attempts = r.attempts, first_attempt_at = r.first_attempt_at, attempt_started_at = r.attempt_started_at,
    next_attempt_at = r.next_attempt_at, escalate_at = r.escalate_at, unknown_since = r.unknown_since,
    next_ask_at = r.next_ask_at, asks = r.asks, result = r.result, result_type = r.result_type, result_bytes
    = r.result_bytes, result_digest = r.result_digest, result_ref = r.result_ref, evidence_ref =
    r.evidence_ref, error_code = r.error_code, category = r.category, dependency = r.dependency,
    side_effect_status = r.side_effect_status, recorded = r.recorded, settled_by = r.settled_by, approved_by
    = r.approved_by, incident_id = r.incident_id, updated_at = r.updated_at, completed_at = r.completed_at
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bytea[],
    $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
    $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bytea[], $22::text[],
    $23::bigint[], $24::bytea[], $25::text[], $26::text[], $27::text[], $28::text[], $29::text[],
    $30::text[], $31::bytea[], $32::text[], $33::text[], $34::text[], $35::bigint[], $36::bigint[]
) AS r (
    tenant, kind, operation_id, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at,
    unknown_since, next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref,
    evidence_ref, error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by,
    incident_id, updated_at, completed_at
)
WHERE o.operation_id = r.operation_id AND o.kind = r.kind AND o.tenant = r.tenant
