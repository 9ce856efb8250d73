//! Every code that the ledger raises.

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
        summary "the dependency announced maintenance and took nothing",
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
    /// The template of an operation id cannot be used
    TEMPLATE_INVALID: Contract, status 400, retry Never, owner Engineering, visible External;
        summary "the template is malformed or names something that changes with every attempt",
        first_check "the placeholder that the message names",
        safe_action "use business identity only: case, command, target, version",
        escalation "the team that owns the kind";
    /// The request cannot be compared
    FINGERPRINT_INVALID: Validation, status 400, retry Never, owner Caller, visible External;
        summary "the request has no canonical form: it is no JSON, repeats a name, or holds an integer beyond 2^53",
        first_check "the request's JSON at the place that the message names",
        safe_action "send large integers as strings, each name once, and nest less than 128 levels; or send a digest",
        escalation "the caller's team";
    /// The key that made a stored fingerprint is not here
    FINGERPRINT_KEY_MISSING: Operational, status 503, retry OperatorDecides, owner Operator, visible Internal;
        summary "a stored operation was fingerprinted with a key this process does not have, so a duplicate cannot be told from a conflict",
        first_check "the installation's keys: was an old one removed?",
        safe_action "restore the old key; nothing was performed",
        escalation "the platform team";
    /// This class may not do that on an unknown outcome
    POLICY_NOT_ALLOWED: Contract, status 400, retry Never, owner Engineering, visible External;
        summary "the effect class does not allow the declared policy",
        first_check "the table of classes and policies",
        safe_action "choose one of the policies that the message lists",
        escalation "the team that owns the kind";
    /// The declaration cannot be used
    DECLARATION_INVALID: Contract, status 400, retry Never, owner Engineering, visible External;
        summary "a kind's declaration is malformed or contradicts itself",
        first_check "the line that the message names",
        safe_action "mend the declaration and start again",
        escalation "the team that owns the kind";
    /// The kind was declared differently before
    KIND_MISMATCH: Contract, status 409, retry Never, owner Engineering, visible External;
        summary "a kind has one declaration and one way to perform; this call differs",
        first_check "where the kind is declared",
        safe_action "use the declared way, or a new kind name",
        escalation "the team that owns the kind";
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
        safe_action "follow the incident; the first outcome stands",
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

    /// The database does not answer
    DATABASE_UNAVAILABLE: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "the ledger's database did not answer; nothing was performed",
        first_check "the database's process, disk and connections",
        safe_action "try again later with the same id",
        escalation "the platform team";
    /// It is unknown whether the commit took hold
    COMMIT_UNKNOWN: Dependency, status 503, retry OnlyIfIdempotent, owner Application, visible Redacted;
        summary "the connection was lost while a commit was under way, and whether it took hold could not be found out",
        first_check "look in the database for what the transaction writes",
        safe_action "do not run it again blindly: send the same request with the same id, or look first",
        escalation "the application's team; the platform team for the lost connection";
    /// The database is busy
    DATABASE_BUSY: Contention, status 503, retry AfterBackoff, owner Application, visible Redacted;
        summary "another connection held the database's write transaction for longer than the wait that is configured",
        first_check "which process keeps a write transaction open",
        safe_action "try again; keep transactions short",
        escalation "the application's team";
    /// The transaction must be run again
    RUN_AGAIN: Contention, status 503, retry Safe, owner Application, visible Redacted;
        summary "the transaction began before another one committed and can no longer write",
        first_check "how the transaction was begun: on SQLite with BEGIN IMMEDIATE, on PostgreSQL with READ COMMITTED",
        safe_action "roll back and run the whole transaction again, on SQLite begun with BEGIN IMMEDIATE",
        escalation "the application's team";
    /// The database cannot be written
    DATABASE_READ_ONLY: Operational, status 503, retry OperatorDecides, owner Platform, visible Redacted;
        summary "the database does not allow writing",
        first_check "a file: its owner and mode, its folder's, and how the disk is mounted; a server: whether it is a standby, and its default_transaction_read_only",
        safe_action "give this user write permission on file and folder, or name the primary server; then start again",
        escalation "the platform team";
    /// The clock jumped ahead
    CLOCK_NOT_CONFIRMED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "the time of day jumped ahead of the last confirmed time, so nothing is deleted by it",
        first_check "whether the clock of the ledger's machine, or of its PostgreSQL server, shows the right time",
        safe_action "if it is right, prune again in half an hour or let the server run, which confirms it; if not, set the clock",
        escalation "the platform team";
    /// A line of an archive is damaged
    ARCHIVE_DAMAGED: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "a line of an archive is cut, changed, or in a format of a newer version",
        first_check "the file and line that the message names, and the disk that they are on",
        safe_action "read the other lines, which are whole; restore the file from a copy",
        escalation "the platform team";
    /// The database is damaged
    DATABASE_CORRUPT: Operational, status 503, retry OperatorDecides, owner Platform, visible Redacted;
        summary "the file is no database of ours or its pages are damaged",
        first_check "the path; then the disk",
        safe_action "keep a copy of the file and its -wal, restore the last backup; do not delete anything",
        escalation "the platform team";
    /// The ledger is not the one that was last seen here
    LEDGER_WENT_BACK: Operational, status 503, retry OperatorDecides, owner Operator, visible Redacted;
        summary "the database is another one, or an older state, than the one that was remembered here: what was acknowledged since then is missing from it, and would be performed again",
        first_check "whether a backup was restored, a file was moved or deleted (-wal too), or a replica took over",
        safe_action "stop, keep every file, and bring the right database back; only if it is lost: onefold accept-restored --why REASON, after the checks of docs/runbooks/restored-database.md",
        escalation "the platform team, at once";
    /// Something is in the way of a backup or a restore
    BACKUP_REFUSED: Conflict, status 409, retry Never, owner Operator, visible Redacted;
        summary "a file or a ledger is there already, and nothing was said of replacing it",
        first_check "what is there, and whether it is still needed",
        safe_action "name another place, or replace what is there on purpose",
        escalation "the platform team";
    /// The database file has more than one name
    DATABASE_ALIASED: Operational, status 503, retry OperatorDecides, owner Platform, visible Redacted;
        summary "the file has a hard link or is mounted by itself, so a second process could open it under another name, with another write-ahead log",
        first_check "who made the other name, and whether a process runs on it",
        safe_action "remove the other name; mount the folder instead of the file; use symbolic links, which are followed",
        escalation "the platform team";
    /// The database is from a newer version
    DATABASE_TOO_NEW: Operational, status 503, retry OperatorDecides, owner Platform, visible Redacted;
        summary "a newer version migrated this database",
        first_check "the version of this program and of the others on this database",
        safe_action "upgrade this program; the database is left untouched",
        escalation "the platform team";
    /// Another process owns this
    DATABASE_IN_USE: Operational, status 503, retry OperatorDecides, owner Platform, visible Redacted;
        summary "a living process runs under the same installation name on this database",
        first_check "the process that the message names",
        safe_action "stop that process, use another database, or in the library another installation name",
        escalation "the platform team";
    /// The disk is full
    DATABASE_FULL: Operational, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "the disk has no room for the commit; nothing of it was written",
        first_check "free space of the database's disk",
        safe_action "free some space; what was acknowledged is safe and waiting outcomes are recorded then",
        escalation "the platform team";
    /// The ledger is stopping
    SHUTTING_DOWN: Operational, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "this process drains and grants nothing new; nothing was performed",
        first_check "whether a deployment is under way",
        safe_action "send the request to another process, or again after the restart",
        escalation "the platform team";
    /// The ledger broke its own rule
    PROGRAMMING_INVARIANT_VIOLATED: Bug, status 500, retry OperatorDecides, owner Engineering, visible Internal;
        summary "stored state contradicts the ledger's rules",
        first_check "the row that the message names",
        safe_action "none: keep the database and report it",
        escalation "engineering";
    /// The kind is not declared
    KIND_UNKNOWN: Contract, status 400, retry Never, owner Caller, visible External;
        summary "no configuration and no earlier claim declares this kind",
        first_check "the kind's name in the call and in the configuration",
        safe_action "declare the kind in the configuration, or send `declare` with the claim",
        escalation "the caller's team";
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
    /// There is no such incident
    INCIDENT_NOT_FOUND: NotFound, status 404, retry Never, owner Caller, visible External;
        summary "no incident has this id",
        first_check "the id, and the tenant of the credential",
        safe_action "list the incidents and take the id from there",
        escalation "the operator on duty";
    /// There is no such token
    TOKEN_NOT_FOUND: NotFound, status 404, retry Never, owner Caller, visible External;
        summary "no token has this name",
        first_check "`onefold token list`",
        safe_action "use a name from the list",
        escalation "the administrator of this server";
    /// The configuration is wrong
    CONFIGURATION_INVALID: Contract, status 400, retry Never, owner Operator, visible External;
        summary "a file, variable or flag sets something that does not exist or has no such value",
        first_check "the place that the message names",
        safe_action "mend that place; `onefold config` shows what counts and where it came from",
        escalation "the administrator of this server";
    /// The address cannot be listened on
    ADDRESS_UNAVAILABLE: Operational, status 503, retry OperatorDecides, owner Operator, visible External;
        summary "another program has the address, this user may not use it, or this machine does not have it",
        first_check "the reason that the message gives; for a used address, who listens there",
        safe_action "choose another address with --listen or --gateway-listen",
        escalation "the administrator of this machine";
    /// There is no ledger here
    LEDGER_NOT_FOUND: NotFound, status 404, retry Never, owner Operator, visible External;
        summary "the place that was looked at holds no ledger; only serve, run and migrate make one",
        first_check "the folder, --config, --database and --schema: `onefold config` shows what counts and why",
        safe_action "go to the ledger's folder, or name its place with --database, --schema or --config",
        escalation "the administrator of this server";
    /// The database holds other tables
    DATABASE_NOT_EMPTY: DomainRule, status 409, retry Never, owner Operator, visible External;
        summary "a new ledger would be written among tables that are not ours",
        first_check "whether this file or schema is the one that was meant",
        safe_action "name another file or schema, or add --into-existing if the ledger belongs there",
        escalation "the administrator of this server";
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
        safe_action "mend the cause, then run it again under the same id",
        escalation "the command's owner";
    /// The output cannot be written
    OUTPUT_NOT_WRITTEN: Operational, status 503, retry Safe, owner Operator, visible External;
        summary "what a command printed could not be written to where it should go; what it did is recorded",
        first_check "the disk or device that standard output goes to",
        safe_action "run it again under the same id, with its output where there is room",
        escalation "the administrator of this machine";
    /// The command cannot be started
    COMMAND_NOT_STARTED: Validation, status 400, retry Never, owner Caller, visible External;
        summary "the program does not exist or cannot be executed; nothing ran",
        first_check "the program's name and the search path",
        safe_action "mend the command line, then run it again under the same id",
        escalation "the command's owner";
    /// The command did not end by itself
    COMMAND_KILLED: Operational, status 503, retry OperatorDecides, owner Operator, visible External;
        summary "the command was ended by a signal or at its deadline; what it did until then is not known",
        first_check "what the command changes, and whether it is changed",
        safe_action "settle it with `onefold incidents resolve`",
        escalation "the command's owner";
    /// The dependency said no, for good
    DOWNSTREAM_REJECTED: DomainRule, status 409, retry Never, owner Application, visible Redacted;
        summary "a dependency rejected the request with an answer that a repetition does not change",
        first_check "the dependency's own log of the operation id",
        safe_action "none: the rejection is recorded and replayed; mend the data and use a new id",
        escalation "the team that owns the kind";
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
    /// The same request is under way
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
    /// Nobody knows whether it took hold
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
    /// Too much is under way
    TOO_BUSY: Operational, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "this process has as many requests or bodies in its hands as it may; nothing was performed",
        first_check "which route holds them, and whether its upstream is slow",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the platform team, for more room";
    /// The dependency is given a rest
    BREAKER_OPEN: Dependency, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "calls to the dependency failed so often that it is not called for a while; nothing was performed",
        first_check "the dependency's own status",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the dependency's team";
    /// Too many calls at once
    BULKHEAD_FULL: Dependency, status 503, retry AfterBackoff, owner Platform, visible External;
        summary "as many calls to the dependency are under way as may be; nothing was performed",
        first_check "whether the dependency answers slowly",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the dependency's team";
    /// Too many calls in this time
    RATE_EXCEEDED: Dependency, status 429, retry AfterBackoff, owner Caller, visible External;
        summary "the dependency is called as often as its declared rate allows; nothing was performed",
        first_check "who calls, and the declared rate",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the team that owns the route";
    /// The upstream does not answer
    UPSTREAM_UNREACHABLE: Dependency, status 502, retry AfterBackoff, owner Platform, visible External;
        summary "no connection to the upstream could be made; nothing was sent and nothing was performed",
        first_check "whether the upstream runs, and whether its address in the route is right",
        safe_action "send the same request with the same key again after Retry-After",
        escalation "the upstream's team";
    /// The event's contract is broken
    EVENT_CONTRACT_INVALID: Contract, status 400, retry Never, owner UpstreamProducer, visible Redacted;
        summary "a message does not have the shape that its contract promises",
        first_check "the event's type, version and schema, and the producer's last deployment",
        safe_action "leave it in quarantine; replay it after the producer or the consumer is mended",
        escalation "the integration's owner, with the quarantine entry";
    /// The event's version is not supported
    EVENT_VERSION_UNSUPPORTED: Contract, status 400, retry Never, owner UpstreamProducer, visible Redacted;
        summary "a message has a version that this consumer does not know",
        first_check "which versions this consumer was built for",
        safe_action "leave it in quarantine; deploy a consumer that knows the version, then replay it",
        escalation "the integration's owner";
    /// What was read has changed since
    OPTIMISTIC_LOCK_CONFLICT: OptimisticLock, status 409, retry Never, owner Caller, visible External;
        summary "the resource has another version than the one that the change was based on",
        first_check "who else changes this resource",
        safe_action "read it again and decide anew",
        escalation "the application's team, when it persists";
    /// The database ended a deadlock
    DB_DEADLOCK_RETRYABLE: Contention, status 503, retry AfterBackoff, owner Application, visible Redacted;
        summary "two transactions waited for each other and this one was ended; it was tried again as often as allowed",
        first_check "the order in which the transactions take their rows",
        safe_action "try again after a short, jittered wait",
        escalation "the application's team, with the queries involved";
    /// The database could not serialize the transaction
    DB_SERIALIZATION_RETRYABLE: Contention, status 503, retry AfterBackoff, owner Application, visible Redacted;
        summary "concurrent transactions could not be put into an order; this one was tried again as often as allowed",
        first_check "which rows are hot, and the isolation level",
        safe_action "try again after a short, jittered wait",
        escalation "the application's team";
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
    /// Something went wrong on our side
    INTERNAL_ERROR: Bug, status 500, retry OperatorDecides, owner Engineering, visible Internal;
        summary "a defect of this service; nothing is known of its cause outside its log",
        first_check "the log of the correlation id, and the last deployment",
        safe_action "roll back if it is widespread",
        escalation "the engineering team";
    /// No process waits for the message
    MESSAGE_NOT_CORRELATED: NotFound, status 404, retry AfterBackoff, owner Application, visible Redacted;
        summary "no running process has a subscription that the message fits; it may have come too early",
        first_check "the correlation key, and whether the process was started",
        safe_action "wait: the message is parked while its process may still come",
        escalation "the workflow's owner";
    /// What was sent breaks a rule
    VALIDATION_REJECTED: Validation, status 422, retry Never, owner Caller, visible External;
        summary "the request can be read, but breaks rules that its findings name",
        first_check "the violations in the answer, each with its path",
        safe_action "mend the request",
        escalation "the caller's team";
}
