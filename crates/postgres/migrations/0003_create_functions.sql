-- The two statements that nearly every operation needs, as functions: the server keeps their plans, where a
-- statement without a name would be parsed and planned each time. What they decide on stays in the program.

-- Grants operations that are absent, and says which. Times count from p_now, or from the server's clock without it.
-- Waiting for somebody else's uncommitted operation is bounded.
CREATE FUNCTION onefold_claim(
    p_now bigint,
    p_tenant text[], p_kind text[], p_operation_id text[], p_fingerprint bytea[], p_fingerprint_mode text[],
    p_fingerprint_key_id bigint[], p_source text[], p_business_key text[], p_correlation_id text[],
    p_process_id text[], p_definition_key text[], p_definition_version text[], p_process_instance_key
    text[], p_element_id text[], p_job_key text[], p_created_at bigint[], p_status text[], p_class text[],
    p_policy text[], p_fence bigint[], p_attempt_id bytea[], p_installation text[], p_worker text[],
    p_deadline bigint[], p_lease_until bigint[], p_attempts bigint[], p_first_attempt_at bigint[],
    p_attempt_started_at bigint[], p_asks bigint[], p_side_effect_status text[], p_updated_at bigint[]
) RETURNS TABLE (tenant text, kind text, operation_id text, granted_at bigint)
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET lock_timeout = '250ms'
AS $$
#variable_conflict use_column
DECLARE
    v_now bigint := coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
BEGIN
    RETURN QUERY
    INSERT INTO onefold_operations AS o (
        tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
        correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
        job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
        lease_until, attempts, first_attempt_at, attempt_started_at, asks, side_effect_status, updated_at
    )
    SELECT
        r.tenant, r.kind, r.operation_id, r.fingerprint, r.fingerprint_mode, r.fingerprint_key_id, r.source,
        r.business_key, r.correlation_id, r.process_id, r.definition_key, r.definition_version,
        r.process_instance_key, r.element_id, r.job_key, r.created_at + v_now, r.status, r.class, r.policy,
        r.fence, r.attempt_id, r.installation, r.worker, r.deadline + v_now, r.lease_until + v_now,
        r.attempts, r.first_attempt_at + v_now, r.attempt_started_at + v_now, r.asks, r.side_effect_status,
        r.updated_at + v_now
    FROM unnest(
        p_tenant, p_kind, p_operation_id, p_fingerprint, p_fingerprint_mode, p_fingerprint_key_id, p_source,
        p_business_key, p_correlation_id, p_process_id, p_definition_key, p_definition_version,
        p_process_instance_key, p_element_id, p_job_key, p_created_at, p_status, p_class, p_policy, p_fence,
        p_attempt_id, p_installation, p_worker, p_deadline, p_lease_until, p_attempts, p_first_attempt_at,
        p_attempt_started_at, p_asks, p_side_effect_status, p_updated_at
    ) AS r (
        tenant, kind, operation_id, fingerprint, fingerprint_mode, fingerprint_key_id, source, business_key,
        correlation_id, process_id, definition_key, definition_version, process_instance_key, element_id,
        job_key, created_at, status, class, policy, fence, attempt_id, installation, worker, deadline,
        lease_until, attempts, first_attempt_at, attempt_started_at, asks, side_effect_status, updated_at
    )
    ON CONFLICT (operation_id, kind, tenant) DO NOTHING
    RETURNING o.tenant, o.kind, o.operation_id, o.created_at;
END
$$;

-- Completes what its holders were granted, and says which: what differs from the grant, and nothing else. Only rows
-- that still are the grant that the decision was made on are written. Their plan is made once and must fit for ever:
-- rows are found through their key, whatever is believed of the table (an index's entries are made to look dear, so
-- that reading few is always better than reading all); the status is compared so that the index of leases cannot be
-- used, which has an entry for every operation that was ever started.
CREATE FUNCTION onefold_settle(
    p_tenant text[], p_kind text[], p_operation_id text[], p_status text[], p_class text[], p_policy text[],
    p_result bytea[], p_result_type text[], p_result_bytes bigint[], p_result_digest bytea[], p_result_ref
    text[], p_evidence_ref text[], p_side_effect_status text[], p_recorded bytea[], p_settled_by text[],
    p_updated_at bigint[], p_completed_at bigint[], p_fence bigint[], p_attempt_id bytea[]
) RETURNS TABLE (tenant text, kind text, operation_id text)
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET lock_timeout = '5s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET cpu_index_tuple_cost = 1000
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE onefold_operations AS o SET
        status = r.status, class = r.class, policy = r.policy, result = r.result, result_type =
        r.result_type, result_bytes = r.result_bytes, result_digest = r.result_digest, result_ref =
        r.result_ref, evidence_ref = r.evidence_ref, side_effect_status = r.side_effect_status, recorded =
        r.recorded, settled_by = r.settled_by, updated_at = r.updated_at, completed_at = r.completed_at
    FROM unnest(
        p_tenant, p_kind, p_operation_id, p_status, p_class, p_policy, p_result, p_result_type,
        p_result_bytes, p_result_digest, p_result_ref, p_evidence_ref, p_side_effect_status, p_recorded,
        p_settled_by, p_updated_at, p_completed_at, p_fence, p_attempt_id
    ) AS r (
        tenant, kind, operation_id, status, class, policy, result, result_type, result_bytes, result_digest,
        result_ref, evidence_ref, side_effect_status, recorded, settled_by, updated_at, completed_at, fence,
        attempt_id
    )
    WHERE o.operation_id = r.operation_id AND o.kind = r.kind AND o.tenant = r.tenant
        AND o.status || '' = 'STARTED' AND o.fence = r.fence AND o.attempt_id = r.attempt_id
        AND o.incident_id IS NULL
    RETURNING o.tenant, o.kind, o.operation_id;
END
$$;
