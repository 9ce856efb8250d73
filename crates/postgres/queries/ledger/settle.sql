-- Operations that their holders completed: what differs from the grant, and nothing else. It writes only
-- rows that still are the grant that the decision was made on.
UPDATE onefold_operations AS o SET
    status = r.status, class = r.class, policy = r.policy, result = r.result, result_type = r.result_type,
    result_bytes = r.result_bytes, result_digest = r.result_digest, result_ref = r.result_ref, evidence_ref
    = r.evidence_ref, side_effect_status = r.side_effect_status, recorded = r.recorded, settled_by =
    r.settled_by, updated_at = r.updated_at, completed_at = r.completed_at
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::text[],
    $9::bigint[], $10::bytea[], $11::text[], $12::text[], $13::text[], $14::bytea[], $15::text[],
    $16::bigint[], $17::bigint[], $18::bigint[], $19::bytea[]
) AS r (
    tenant, kind, operation_id, status, class, policy, result, result_type, result_bytes, result_digest,
    result_ref, evidence_ref, side_effect_status, recorded, settled_by, updated_at, completed_at, fence,
    attempt_id
)
WHERE o.operation_id = r.operation_id AND o.kind = r.kind AND o.tenant = r.tenant
    AND o.status = 'STARTED' AND o.fence = r.fence AND o.attempt_id = r.attempt_id AND o.incident_id IS NULL
RETURNING o.tenant, o.kind, o.operation_id
