//! Commands, and what they run.

crate::codes! {
    /// The server cannot be reached
    SERVER_UNREACHABLE: Dependency, status 503, retry OnlyIfIdempotent, owner Operator, visible External;
        summary "the Onefold server did not answer",
        first_check "whether `onefold serve` runs, and its address",
        safe_action "start it, or give its address with --server",
        escalation "the administrator of this server";
    /// The command ended with a failure
    COMMAND_FAILED: DomainRule, status 409, retry OperatorDecides, owner Caller, visible External;
        summary "the command that was run once ended with another exit code than 0",
        first_check "what it wrote: `onefold operations result`",
        safe_action "fix the cause, then run it again under the same id",
        escalation "the command's owner";
    /// The output cannot be written
    OUTPUT_NOT_WRITTEN: Operational, status 503, retry Safe, owner Operator, visible External;
        summary "what a command printed could not be written to where it should go; what it did is recorded",
        first_check "the disk or device that standard output goes to",
        safe_action "run it again under the same id, with its output where there is space",
        escalation "the administrator of this machine";
    /// The command cannot be started
    COMMAND_NOT_STARTED: Validation, status 400, retry Never, owner Caller, visible External;
        summary "the program does not exist or cannot be executed; nothing ran",
        first_check "the program's name and the search path",
        safe_action "fix the command line, then run it again under the same id",
        escalation "the command's owner";
    /// The command did not end by itself
    COMMAND_KILLED: Operational, status 503, retry OperatorDecides, owner Operator, visible External;
        summary "the command was ended by a signal or at its deadline; what it did until then is not known",
        first_check "what the command changes, and whether it is changed",
        safe_action "settle it with `onefold incidents resolve`",
        escalation "the command's owner";
}
