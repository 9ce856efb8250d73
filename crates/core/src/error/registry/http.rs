//! Requests: what is wrong with one, who sends it, and what its key was used for.

crate::codes! {
    /// No credential was given, or it is not known
    AUTHENTICATION_REQUIRED: Authorization, status 401, retry Never, owner Caller, visible External;
        summary "the request carries no credential that is known here",
        first_check "the credential that the caller sends, and whether it has expired",
        safe_action "send a valid credential",
        escalation "the service's administrator";
    /// The credential does not allow this
    AUTHORIZATION_DENIED: Authorization, status 403, retry Never, owner Caller, visible External;
        summary "the credential is known, and does not allow this call",
        first_check "what the credential is allowed to do",
        safe_action "use a credential that allows the call",
        escalation "the service's administrator";
    /// The request comes from a place that is not let in
    REQUEST_ORIGIN_REFUSED: Authorization, status 403, retry Never, owner Caller, visible External;
        summary "the Host or Origin header names a place that this server does not answer to",
        first_check "the address in the client, and `hosts` in the configuration",
        safe_action "call the server by its own address, or add the name to `hosts`",
        escalation "the administrator of this server";
    /// The request's body is malformed
    REQUEST_BODY_INVALID: Validation, status 400, retry Never, owner Caller, visible External;
        summary "the body is not JSON, has unknown or missing fields, or is nested too deeply",
        first_check "the body against the service's description",
        safe_action "correct the request",
        escalation "the caller's team";
    /// The request's path or query is malformed
    REQUEST_INVALID: Validation, status 400, retry Never, owner Caller, visible External;
        summary "a path or query parameter is unknown or has no such value",
        first_check "the parameters against the service's description",
        safe_action "correct the request",
        escalation "the caller's team";
    /// The request's body is too large
    REQUEST_TOO_LARGE: Validation, status 413, retry Never, owner Caller, visible External;
        summary "the body is larger than this server reads",
        first_check "what the body holds; a claim needs the request or its digest, not files",
        safe_action "send `requestDigest` instead of the request, or a reference instead of the result",
        escalation "the administrator, who may raise `body_bytes_max`";
    /// The body's media type is not JSON
    MEDIA_TYPE_UNSUPPORTED: Validation, status 415, retry Never, owner Caller, visible External;
        summary "this call takes application/json",
        first_check "the Content-Type header",
        safe_action "send Content-Type: application/json",
        escalation "the caller's team";
    /// There is no such route
    ROUTE_NOT_FOUND: NotFound, status 404, retry Never, owner Caller, visible External;
        summary "this server has no such path",
        first_check "the path against the service's description",
        safe_action "correct the request",
        escalation "the caller's team";
    /// The route does not take this method
    METHOD_NOT_ALLOWED: Validation, status 405, retry Never, owner Caller, visible External;
        summary "the path exists, but not with this method",
        first_check "the method against the service's description",
        safe_action "correct the request",
        escalation "the caller's team";
    /// There is no such token
    TOKEN_NOT_FOUND: NotFound, status 404, retry Never, owner Caller, visible External;
        summary "no token has this name",
        first_check "`onefold token list`",
        safe_action "use a name from the list",
        escalation "the administrator of this server";
    /// The address cannot be listened on
    ADDRESS_UNAVAILABLE: Operational, status 503, retry OperatorDecides, owner Operator, visible External;
        summary "another program has the address, this user may not use it, or this machine does not have it",
        first_check "the reason that the message gives; for a used address, who listens there",
        safe_action "choose another address with --listen or --gateway-listen",
        escalation "the administrator of this machine";
    /// A required header is missing
    REQUEST_HEADER_MISSING: Validation, status 400, retry Never, owner Caller, visible External;
        summary "the route needs a header that the request does not carry",
        first_check "the header that the detail names",
        safe_action "send the header",
        escalation "the caller's team";
    /// The idempotency key is malformed
    IDEMPOTENCY_KEY_INVALID: Validation, status 400, retry Never, owner Caller, visible External;
        summary "the Idempotency-Key header is empty, too long, or holds characters that it must not",
        first_check "how the caller builds its key",
        safe_action "send a key of its own for every request, such as a UUID",
        escalation "the caller's team";
    /// The idempotency key was used for another request
    IDEMPOTENCY_KEY_REUSED: Conflict, status 422, retry Never, owner Caller, visible External;
        summary "the same key arrived before with another method, query, content type or body",
        first_check "how the caller makes its keys: one for each request it means",
        safe_action "send a new key for a new request; for the old one send what was sent first",
        escalation "the caller's team";
    /// The same request is in flight
    OPERATION_IN_FLIGHT: Conflict, status 409, retry AfterBackoff, owner Caller, visible External;
        summary "a request with this key is being performed and did not end while this one waited",
        first_check "nothing: it ends by its deadline at the latest",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the service's team, when it never ends";
    /// The operation waits for its next attempt
    OPERATION_WAITING: Conflict, status 409, retry AfterBackoff, owner Caller, visible External;
        summary "an earlier attempt failed and the next one may not start yet",
        first_check "nothing: the schedule of the failure decides when",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the service's team, when it never succeeds";
    /// It is unknown whether it took hold
    OUTCOME_UNKNOWN: Conflict, status 409, retry OperatorDecides, owner Operator, visible External;
        summary "the request was sent on and its answer is not known; it may have taken hold",
        first_check "the incident of the operation, and what the service shows for its key",
        safe_action "ask again later with the same key; a new key may make it happen twice",
        escalation "the team that owns the service, with the operation's reference";
    /// It was done, and its answer cannot be shown
    RESULT_UNAVAILABLE: Duplicate, status 409, retry Never, owner Caller, visible External;
        summary "the request took hold before, but its answer was streamed, too large, or past its retention",
        first_check "the service itself, by what the request created",
        safe_action "read the result from the service; the request is not performed again",
        escalation "the service's team";
    /// The body arrives too slowly
    REQUEST_TOO_SLOW: Validation, status 408, retry Safe, owner Caller, visible External;
        summary "the body did not arrive whole within its time; nothing was performed",
        first_check "the network between the caller and here",
        safe_action "send the same request again",
        escalation "the platform team, when it persists";
    /// Too much is in flight
    TOO_BUSY: Operational, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "this process has reached its limit of requests in flight or of buffered bodies; nothing was performed",
        first_check "which route holds them, and whether its upstream is slow",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the platform team, for higher limits";
    /// The upstream does not answer
    UPSTREAM_UNREACHABLE: Dependency, status 502, retry AfterBackoff, owner Platform, visible External;
        summary "no connection to the upstream could be made; nothing was sent and nothing was performed",
        first_check "whether the upstream runs, and whether its address in the route is right",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the upstream's team";
    /// What was sent breaks a rule
    VALIDATION_REJECTED: Validation, status 422, retry Never, owner Caller, visible External;
        summary "the request can be read, but breaks rules that its findings name",
        first_check "the violations in the answer, each with its path",
        safe_action "fix the request",
        escalation "the caller's team";
}
