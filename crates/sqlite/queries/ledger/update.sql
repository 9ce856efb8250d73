-- An operation after a transition; the parameters are those of insert.sql.
UPDATE onefold_operations SET
    status = ?17, class = ?18, policy = ?19, fence = ?20, attempt_id = ?21, installation = ?22, worker = ?23,
    deadline = ?24, lease_until = ?25, attempts = ?26, first_attempt_at = ?27, attempt_started_at = ?28,
    next_attempt_at = ?29, escalate_at = ?30, unknown_since = ?31, next_ask_at = ?32, asks = ?33,
    result = ?34, result_type = ?35, result_bytes = ?36, result_digest = ?37, result_ref = ?38,
    evidence_ref = ?39, error_code = ?40, category = ?41, dependency = ?42, side_effect_status = ?43,
    recorded = ?44, settled_by = ?45, approved_by = ?46, incident_id = ?47, updated_at = ?48,
    completed_at = ?49
WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3
