//! The codes of the case domain, beside the registry's own.

onefold::codes! {
    /// Case was not found
    CASE_NOT_FOUND: NotFound, status 404, retry Never, owner Caller, visible External;
        summary "there is no case with this id",
        first_check "whether the caller has the id from an accepted submission",
        safe_action "ask with the id that the submission answered",
        escalation "the case team";
    /// Case is in an invalid state for this operation
    CASE_INVALID_STATE: DomainRule, status 409, retry Never, owner Application, visible External;
        summary "the case does not allow this operation in its present state",
        first_check "the state of the case",
        safe_action "choose an operation that the state allows",
        escalation "the case team";
    /// Another submission used this key
    CASE_DUPLICATE_SUBMISSION: Conflict, status 409, retry Never, owner Caller, visible External;
        summary "the idempotency key stands for a submission with other content",
        first_check "how the caller derives its key: it must change when the submission does",
        safe_action "send the changed submission under a new key",
        escalation "the caller's team";
    /// Case submission was rejected
    CASE_VALIDATION_REJECTED: Validation, status 422, retry Never, owner Caller, visible External;
        summary "the submission breaks rules of the case domain",
        first_check "the violations and their paths",
        safe_action "fix the submission and send it again",
        escalation "the case team";
    /// Evidence is invalid
    EVIDENCE_INVALID: Validation, status 422, retry Never, owner Caller, visible External;
        summary "a piece of evidence cannot be taken into the case",
        first_check "the evidence that is named",
        safe_action "fix or leave out the evidence and send the submission again",
        escalation "the case team";
    /// Decision is not allowed
    DECISION_NOT_ALLOWED: DomainRule, status 409, retry Never, owner User, visible External;
        summary "this actor may not decide this case",
        first_check "who submitted the case",
        safe_action "let another actor decide",
        escalation "the case team";
}
