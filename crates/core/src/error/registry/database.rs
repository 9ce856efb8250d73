//! The database below a ledger.

crate::codes! {
    /// The database does not answer
    DATABASE_UNAVAILABLE: Dependency, status 503, retry AfterBackoff, owner Platform, visible Redacted;
        summary "the ledger's database did not answer; nothing was performed",
        first_check "the database's process, disk and connections",
        safe_action "try again later with the same id",
        escalation "the platform team";
    /// It is unknown whether the commit took hold
    COMMIT_UNKNOWN: Dependency, status 503, retry OnlyIfIdempotent, owner Application, visible Redacted;
        summary "the connection was lost while a commit was in flight, and whether it took hold could not be found out",
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
        summary "the file is not a database of ours, or its pages are damaged",
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
        summary "a file or a ledger exists already, and replacing it was not asked for",
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
        summary "the disk has no space for the commit; nothing of it was written",
        first_check "free space of the database's disk",
        safe_action "free some space; what was acknowledged is safe and waiting outcomes are recorded then",
        escalation "the platform team";
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
    /// What was read has changed since
    OPTIMISTIC_LOCK_CONFLICT: OptimisticLock, status 409, retry Never, owner Caller, visible External;
        summary "the resource has another version than the one that the change was based on",
        first_check "who else changes this resource",
        safe_action "read it again and decide again",
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
}
