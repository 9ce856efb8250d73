//! Events on their way out.

crate::codes! {
    /// The event's id was used for another event
    EVENT_ID_REUSED: Conflict, status 409, retry Never, owner Application, visible External;
        summary "an event with this id is staged already, and its type, aggregate or payload is another one",
        first_check "where the id comes from: an operation that stages twice must stage the same",
        safe_action "give each event its own id, or stage it through its operation",
        escalation "the application's team";
    /// The event's type is not declared
    EVENT_TYPE_UNKNOWN: Contract, status 422, retry Never, owner Application, visible External;
        summary "no contract is declared for the event's type",
        first_check "the spelling, and whether the type is declared in the program or as [[event]]",
        safe_action "declare the type once, with its versions and schema",
        escalation "the application's team";
    /// The event is too large
    EVENT_TOO_LARGE: Validation, status 413, retry Never, owner Application, visible External;
        summary "a part of the event has more bytes than every target can be sent",
        first_check "which part the message names",
        safe_action "stage a reference to where the data is stored",
        escalation "the application's team";
    /// A header of the event cannot be sent
    EVENT_HEADER_INVALID: Contract, status 422, retry Never, owner Application, visible External;
        summary "the name or the value of a header cannot be sent to every target",
        first_check "the header that the message names",
        safe_action "rename it, or put the value into the payload",
        escalation "the application's team";
    /// The target refused the event
    EVENT_TARGET_REFUSED: Contract, status 422, retry AfterBackoff, owner Application, visible Redacted;
        summary "the target does not take this event; it is set aside, and its aggregate waits behind it",
        first_check "what the target said, and the event's type and version",
        safe_action "fix the target or the event's contract, then onefold outbox release; or edit, or skip it",
        escalation "the team of the target";
    /// The event is still on its way
    EVENT_IN_FLIGHT: Conflict, status 409, retry AfterBackoff, owner Operator, visible External;
        summary "a relay that was paused may still send the event under its last lease",
        first_check "when that lease ends: the message says it",
        safe_action "try again then",
        escalation "the application's team";
    /// The event has moved on
    EVENT_MOVED_ON: Conflict, status 409, retry Never, owner Operator, visible External;
        summary "the event is no longer set aside, so nothing can be decided about it",
        first_check "what became of it: onefold outbox show",
        safe_action "none: it was published or skipped",
        escalation "the application's team";
    /// There is no such event
    EVENT_NOT_FOUND: NotFound, status 404, retry Never, owner Operator, visible External;
        summary "no event with this id is kept",
        first_check "the id, the tenant, and whether retention has passed",
        safe_action "look at what was set aside: onefold outbox parked",
        escalation "the application's team";
    /// The target cannot be reached
    TARGET_UNAVAILABLE: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "a relay's target does not answer or takes nothing; events wait, none is lost",
        first_check "whether the target is up, and whether this machine reaches it and may write there",
        safe_action "restore it, or the way to it; publishing goes on by itself",
        escalation "the platform team";
    /// The target is not set up for this relay
    TARGET_NOT_READY: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "a relay's target does not exist, refuses us, or is set up so that a promise would not hold",
        first_check "the topic, exchange, stream or address that the message names",
        safe_action "create it or change it as the message says; the relay tries again by itself",
        escalation "the platform team";
    /// There is no such relay
    RELAY_NOT_FOUND: NotFound, status 404, retry Never, owner Operator, visible External;
        summary "no relay with this name was declared on this database",
        first_check "the spelling: onefold outbox status",
        safe_action "declare it as [[relay]] and start the server",
        escalation "the application's team";
    /// The relay is stopped
    RELAY_STOPPED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "a hundred of the last thousand events of a lane were refused with one code, so it stopped",
        first_check "the code, and the target's or the producer's last deployment",
        safe_action "fix the cause, then onefold outbox start RELAY; nothing was lost meanwhile",
        escalation "the application's team";
    /// Too many events are set aside
    RELAY_SET_ASIDE_FULL: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "a relay has set aside as many events as it may, so its lanes stop",
        first_check "why they were refused: onefold outbox parked",
        safe_action "release, edit or skip them, then onefold outbox start RELAY",
        escalation "the application's team";
    /// The relay's own table does not fit
    RELAY_TABLE_INVALID: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "a relay's own table is missing, lacks a column, or has a column of another type",
        first_check "the table and the column that the message names",
        safe_action "create it, or name another one in columns of the [[relay]], and start again",
        escalation "the application's team";
    /// The replay has no bound
    REPLAY_UNBOUNDED: Validation, status 422, retry Never, owner Operator, visible External;
        summary "a replay names a relay, at least one filter and how many events it may send at most",
        first_check "which of them is missing: the message says it",
        safe_action "narrow it by type, time or aggregate, and give --max; a dry run counts first",
        escalation "the application's team";
    /// There is no such replay
    REPLAY_NOT_FOUND: NotFound, status 404, retry Never, owner Operator, visible External;
        summary "no replay has this id",
        first_check "the id and the tenant: onefold outbox replays",
        safe_action "none: nothing was changed",
        escalation "the application's team";
    /// The replay has ended
    REPLAY_ENDED: Conflict, status 409, retry Never, owner Operator, visible External;
        summary "the replay is done or was cancelled, so it cannot be cancelled",
        first_check "how it ended: onefold outbox replays",
        safe_action "none: ask for another replay where more is needed",
        escalation "the application's team";
    /// The relay's place belongs to another database
    DATABASE_RESTORED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "the database was restored or replaced: a relay's place in it means nothing there",
        first_check "when and from what the database was restored",
        safe_action "decide what was published since then, and run onefold outbox rebase RELAY",
        escalation "the platform team";
    /// A standby cannot be read by a relay
    STANDBY_REFUSED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "the server is in recovery: it does not show which transactions are running, so events would be lost",
        first_check "which server the address names",
        safe_action "name the primary server",
        escalation "the platform team";
    /// The events' sequence has a cache
    SEQUENCE_CACHED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "the sequence of onefold_events hands numbers out in advance, which inverts the order of events",
        first_check "who changed the sequence",
        safe_action "set the cache of its column seq back to 1, as docs/guides/outbox.md shows, and start again",
        escalation "the platform team";
}
