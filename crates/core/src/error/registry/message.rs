//! Events, messages and the workflow engine.

crate::codes! {
    /// The event's contract is broken
    EVENT_CONTRACT_INVALID: Contract, status 400, retry Never, owner UpstreamProducer, visible External;
        summary "an event or a message does not have the shape that its contract promises",
        first_check "the event's type, version and schema, and the producer's last deployment",
        safe_action "fix what produces it; a parked event is edited or released then, a quarantined message replayed",
        escalation "the integration's owner, with the quarantine entry";
    /// The event's version is not supported
    EVENT_VERSION_UNSUPPORTED: Contract, status 400, retry Never, owner UpstreamProducer, visible External;
        summary "an event or a message has a version that is not declared, or that this consumer does not know",
        first_check "which versions are declared, and which this consumer was built for",
        safe_action "declare the version or deploy a consumer that knows it, then release or replay what waits",
        escalation "the integration's owner";
    /// The event could not be published
    KAFKA_PUBLISH_FAILED: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "the broker did not take an event; the business fact behind it is committed and stays",
        first_check "the broker's health and the relay's lag",
        safe_action "wait: the relay publishes it when the broker is back",
        escalation "the platform team";
    /// The engine refused or lost a command
    CAMUNDA_COMMAND_FAILED: Dependency, status 503, retry OnlyIfIdempotent, owner Platform, visible Redacted;
        summary "a command to the workflow engine failed or was not answered",
        first_check "the process instance, its element and the job",
        safe_action "let the job be tried again where its incident says that this is safe",
        escalation "the workflow's owner";
    /// No process waits for the message
    MESSAGE_NOT_CORRELATED: NotFound, status 404, retry AfterBackoff, owner Application, visible Redacted;
        summary "no running process has a subscription that the message fits; it may have come too early",
        first_check "the correlation key, and whether the process was started",
        safe_action "wait: the message is parked while its process may still come",
        escalation "the workflow's owner";
}
