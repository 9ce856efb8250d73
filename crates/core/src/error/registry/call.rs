//! Calls to a dependency.

crate::codes! {
    /// The dependency did not answer the call
    DOWNSTREAM_UNAVAILABLE: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "a dependency refused or broke the connection, or said that it is unavailable",
        first_check "the dependency's own status and our connection to it",
        safe_action "follow the operation: its incident where it has one, else its next attempt",
        escalation "the dependency's team, when it stays away";
    /// The dependency did not answer in time
    DOWNSTREAM_TIMEOUT: Dependency, status 504, retry OnlyIfIdempotent, owner Operator, visible Redacted;
        summary "a call was sent and its answer did not arrive before the deadline; the effect may have taken hold",
        first_check "search the dependency for the operation id",
        safe_action "resolve the incident with what the dependency shows; do not retry blindly",
        escalation "the dependency's team, with the operation id";
    /// The dependency limits the rate of calls
    RATE_LIMITED: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "the dependency refused the call because of too many calls",
        first_check "the quota and who else uses it",
        safe_action "follow the operation: its incident where it has one, else its next attempt after Retry-After",
        escalation "the dependency's team, for a larger quota";
    /// The dependency is under maintenance
    MAINTENANCE: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "the dependency announced maintenance and accepted nothing",
        first_check "the announced end of the maintenance",
        safe_action "follow the operation: its incident where it has one, else its next attempt",
        escalation "the dependency's team";
    /// The worker's contract is broken
    INVALID_WORKER_CONTRACT: Contract, status 400, retry Never, owner Engineering, visible Redacted;
        summary "a value that the declaration needs is absent or malformed, or the dependency rejects what we send",
        first_check "the declared template and input of the kind, and the value that is missing",
        safe_action "fix the data or the declaration, then retry the operation",
        escalation "the team that owns the kind";
    /// The dependency refuses our credentials
    PERMISSION: Operational, status 503, retry OperatorDecides, owner Platform, visible Internal;
        summary "the dependency refused us, not the user: credentials, scopes or network rules",
        first_check "the credential's expiry and scopes",
        safe_action "renew the credential, then retry the operation",
        escalation "the platform team";
    /// Concurrent work got in the way
    CONTENTION: Contention, status 503, retry AfterBackoff, owner Application, visible Redacted;
        summary "concurrent transactions touched the same rows and this one gave way",
        first_check "which transactions run for long",
        safe_action "try again after a short, jittered wait",
        escalation "the application's team, when it persists";
    /// The dependency said no, for good
    DOWNSTREAM_REJECTED: DomainRule, status 409, retry Never, owner Application, visible Redacted;
        summary "a dependency rejected the request with an answer that a repetition does not change",
        first_check "the dependency's own log of the operation id",
        safe_action "none: the rejection is recorded and replayed; fix the data and use a new id",
        escalation "the team that owns the kind";
    /// The dependency is given a rest
    BREAKER_OPEN: Dependency, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "the circuit breaker is open: recent calls to the dependency failed, so it is not called for a while; nothing was performed",
        first_check "the dependency's own status",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the dependency's team";
    /// Too many calls at once
    BULKHEAD_FULL: Dependency, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "the dependency's bulkhead is full: no further call may be in flight; nothing was performed",
        first_check "whether the dependency answers slowly",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the dependency's team";
    /// Too many calls in this time
    RATE_EXCEEDED: Dependency, status 429, retry AfterBackoff, owner Caller, visible External;
        summary "rate limit exceeded: the dependency's declared rate is used up; nothing was performed",
        first_check "who calls, and the declared rate",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the team that owns the route";
}
