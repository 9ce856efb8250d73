-- A new operation in the user's own transaction; the parameters are the columns in order. The transaction remembers
-- it until its end, so that a commit whose answer is lost can be looked for.
INSERT INTO onefold_operations (
    tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
    correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
    job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
    lease_until, attempts, first_attempt_at, attempt_started_at, next_attempt_at, escalate_at,
    unknown_since, next_ask_at, asks, result, result_type, result_bytes, result_digest, result_ref,
    evidence_ref, error_code, category, dependency, side_effect_status, recorded, settled_by, approved_by,
    incident_id, updated_at, completed_at
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
    $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43,
    $44, $45, $46, $47, $48, $49
)
RETURNING set_config(
    'onefold.performed', concat_ws(chr(10), tenant, kind, operation_id, encode(attempt_id, 'hex')), true
)
