//! Operations: claims, leases, outcomes, results, decisions.

crate::codes! {
    /// The store does not answer
    STORE_UNAVAILABLE: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "the operation's own store did not answer",
        first_check "the store's process, disk and connections",
        safe_action "wait until the store answers; nothing was performed",
        escalation "the platform team";
    /// Every attempt was used up
    ATTEMPTS_EXHAUSTED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "the retry schedule ended without success",
        first_check "the last failure of the operation's timeline",
        safe_action "fix the cause, then retry the operation if its side effect is NOT_APPLIED",
        escalation "the team that owns the kind";
    /// The holder of the lease went silent
    HOLDER_LOST: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "a process that was allowed to act stopped renewing its lease; it may have acted",
        first_check "whether that process crashed, and what the dependency shows for the operation id",
        safe_action "resolve with what the dependency shows; do not retry blindly",
        escalation "the team that owns the kind";
    /// The effect may have happened twice
    DUPLICATE_SUSPECTED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "an attempt reported an effect after another attempt had been allowed to act",
        first_check "count the effects of the operation id in the dependency",
        safe_action "undo one effect if there are two, then resolve the incident",
        escalation "the team that owns the kind, at once";
    /// Unexpected failure
    UNEXPECTED: Bug, status 500, retry OperatorDecides, owner Engineering, visible Internal;
        summary "a failure that no rule names",
        first_check "the log of the process at the incident's time",
        safe_action "none until the cause is known",
        escalation "engineering";
    /// This operation id was used for another request
    OPERATION_CONFLICT: Conflict, status 422, retry Never, owner Caller, visible External;
        summary "the same operation id arrived with another fingerprint",
        first_check "how the id is derived",
        safe_action "use a new id for a new request",
        escalation "the caller's team";
    /// The outcome is not recorded yet
    OUTCOME_NOT_RECORDED: Operational, status 503, retry OnlyIfIdempotent, owner Operator, visible External;
        summary "the effect was attempted but the ledger could not be written; the outcome waits in the local journal",
        first_check "why the store does not accept writes: disk, permissions, process",
        safe_action "ask again with the same operation id later; the journal is recorded when the store answers or at the next start",
        escalation "the platform team";
    /// The operation id cannot be used
    OPERATION_ID_INVALID: Validation, status 400, retry Never, owner Caller, visible External;
        summary "the id is empty, too long, or holds characters that cannot be stored",
        first_check "the value as it was sent",
        safe_action "send an id of 1 to 255 bytes without control characters",
        escalation "the caller's team";
    /// The request cannot be compared
    FINGERPRINT_INVALID: Validation, status 422, retry Never, owner Caller, visible External;
        summary "the request has no canonical form: it is not JSON, repeats a name, or holds an integer beyond 2^53",
        first_check "the request's JSON at the place that the message names",
        safe_action "send large integers as strings, each name once, and nest less than 128 levels; or send a digest",
        escalation "the caller's team";
    /// The key that made a stored fingerprint is not here
    FINGERPRINT_KEY_MISSING: Operational, status 503, retry OperatorDecides, owner Operator, visible Internal;
        summary "a stored operation was fingerprinted with a key this process does not have, so a duplicate cannot be told from a conflict",
        first_check "the installation's keys: was an old one removed?",
        safe_action "restore the old key; nothing was performed",
        escalation "the platform team";
    /// This lease was never granted
    LEASE_NEVER_GRANTED: Conflict, status 409, retry Never, owner Caller, visible External;
        summary "no claim granted this operation with this fence",
        first_check "the fence and the operation id that were sent",
        safe_action "claim first, and record with the fence of the grant",
        escalation "the caller's team";
    /// This lease belongs to another attempt
    LEASE_NOT_YOURS: Conflict, status 409, retry Never, owner Caller, visible External;
        summary "the fence is current but was granted to another attempt id",
        first_check "whether two callers share one attempt id source",
        safe_action "make a fresh random attempt id for every claim",
        escalation "the caller's team";
    /// A later attempt holds this operation
    LEASE_SUPERSEDED: Conflict, status 409, retry Never, owner Operator, visible External;
        summary "the lease expired and another attempt was granted; what came late is kept as evidence",
        first_check "the operation's incident and timeline",
        safe_action "do not act; follow the incident",
        escalation "the team that owns the kind";
    /// The lease can no longer be renewed
    LEASE_ENDED: Conflict, status 409, retry Never, owner Caller, visible External;
        summary "the attempt has ended: it was recorded, released, expired or resolved",
        first_check "the operation's timeline",
        safe_action "stop acting; record what is known",
        escalation "the caller's team";
    /// Another outcome was recorded for this attempt
    OUTCOME_CONFLICT: Conflict, status 409, retry Never, owner Operator, visible External;
        summary "one attempt reported two different outcomes, or an outcome contradicts what was decided since",
        first_check "what the dependency shows for the operation id",
        safe_action "follow the incident; the first outcome is kept",
        escalation "the team that owns the kind";
    /// Evidence is required
    EVIDENCE_REQUIRED: Validation, status 422, retry Never, owner Caller, visible External;
        summary "a financial or legal effect is completed only with a reference to its evidence",
        first_check "the reference that the source system gave",
        safe_action "record again with the evidence reference",
        escalation "the caller's team";
    /// The recorded result was not kept
    RESULT_NOT_KEPT: Duplicate, status 409, retry Never, owner Caller, visible External;
        summary "the operation completed, but its result was over the limit or past its retention; only digest and reference remain",
        first_check "the reference or the evidence in the operation's timeline",
        safe_action "read the result from its source system; the operation is not performed again",
        escalation "the team that owns the kind";
    /// The stored result is not the one that was recorded
    RESULT_DAMAGED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "the bytes of a stored result do not have the checksum that was stored with them: the disk or somebody changed them",
        first_check "the same operation in the last backup, and the health of the disk",
        safe_action "read the result from the source system by the operation's evidence; the operation is not performed again",
        escalation "the platform team: other rows may be damaged too";
    /// The result cannot be read as the expected type
    RESULT_UNREADABLE: Contract, status 500, retry Never, owner Engineering, visible Internal;
        summary "the recorded result does not decode as the type the caller asks for, or the new one cannot be encoded",
        first_check "whether the result type changed since it was recorded",
        safe_action "keep the old shape readable; the operation is not performed again",
        escalation "the team that owns the kind";
    /// A value is over its limit
    LIMIT_EXCEEDED: Validation, status 400, retry Never, owner Caller, visible External;
        summary "a field is larger than the ledger stores",
        first_check "the field and the limit that the message names",
        safe_action "send a shorter value or a reference",
        escalation "the caller's team";
    /// No such operation
    OPERATION_NOT_FOUND: NotFound, status 404, retry Never, owner Caller, visible External;
        summary "the ledger holds no operation with this id",
        first_check "tenant, kind and id; and whether retention removed it",
        safe_action "look for it by its business key, or list the operations of its kind",
        escalation "the caller's team";
    /// The operation does not allow this now
    RESOLUTION_REFUSED: Conflict, status 409, retry OperatorDecides, owner Operator, visible External;
        summary "the operation changed since it was looked at, its lease is live, or the rule for its class is not met",
        first_check "the operation's present state",
        safe_action "look again and decide on what is there now",
        escalation "the team that owns the kind";
    /// The ledger is stopping
    SHUTTING_DOWN: Operational, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "this process drains and grants nothing new; nothing was performed",
        first_check "whether a deployment is running",
        safe_action "send the request to another process, or again after the restart",
        escalation "the platform team";
    /// The ledger broke its own rule
    PROGRAMMING_INVARIANT_VIOLATED: Bug, status 500, retry OperatorDecides, owner Engineering, visible Internal;
        summary "stored state contradicts the ledger's rules",
        first_check "the row that the message names",
        safe_action "none: keep the database and report it",
        escalation "engineering";
    /// There is no such incident
    INCIDENT_NOT_FOUND: NotFound, status 404, retry Never, owner Caller, visible External;
        summary "no incident has this id",
        first_check "the id, and the tenant of the credential",
        safe_action "list the incidents and take the id from there",
        escalation "the operator on duty";
    /// Something went wrong on our side
    INTERNAL_ERROR: Bug, status 500, retry OperatorDecides, owner Engineering, visible Internal;
        summary "a defect of this service; nothing is known of its cause outside its log",
        first_check "the log of the correlation id, and the last deployment",
        safe_action "roll back if it is widespread",
        escalation "the engineering team";
}
