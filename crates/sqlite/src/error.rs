//! From SQLite's result codes to the registry; never by message text.

use std::path::Path;

use onefold_core::Error;
use onefold_core::error::{
    Code, DATABASE_BUSY, DATABASE_CORRUPT, DATABASE_FULL, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE, LIMIT_EXCEEDED,
    PROGRAMMING_INVARIANT_VIOLATED, RUN_AGAIN,
};
use onefold_core::persistence::Fault;
use rusqlite::ffi;

/// A failure on an open connection.
pub(crate) fn translate(cause: rusqlite::Error) -> Error {
    let extended = cause.sqlite_error().map_or(ffi::SQLITE_ERROR, |error| error.extended_code);
    let (code, detail) = named(extended);
    let tells_more = [PROGRAMMING_INVARIANT_VIOLATED, DATABASE_UNAVAILABLE].contains(&code);
    let detail = if tells_more { format!("{detail}: {cause}") } else { detail.to_owned() };
    let error = Error::new(code, detail).native_code(native(extended));
    if let rusqlite::Error::SqliteFailure(_, Some(said)) = &cause
        && extended & 0xff == ffi::SQLITE_CONSTRAINT
    {
        return error.breaking(constraint(extended, said).unwrap_or(said)).caused_by(cause);
    }
    error.caused_by(cause)
}

/// SQLite's own name of a result code.
fn native(extended: i32) -> &'static str {
    match (extended, extended & 0xff) {
        (ffi::SQLITE_BUSY_SNAPSHOT, _) => "SQLITE_BUSY_SNAPSHOT",
        (_, ffi::SQLITE_BUSY) => "SQLITE_BUSY",
        (_, ffi::SQLITE_LOCKED) => "SQLITE_LOCKED",
        (_, ffi::SQLITE_READONLY) => "SQLITE_READONLY",
        (_, ffi::SQLITE_FULL) => "SQLITE_FULL",
        (_, ffi::SQLITE_CORRUPT) => "SQLITE_CORRUPT",
        (_, ffi::SQLITE_NOTADB) => "SQLITE_NOTADB",
        (_, ffi::SQLITE_IOERR) => "SQLITE_IOERR",
        (_, ffi::SQLITE_CANTOPEN) => "SQLITE_CANTOPEN",
        (_, ffi::SQLITE_TOOBIG) => "SQLITE_TOOBIG",
        (_, ffi::SQLITE_CONSTRAINT) => "SQLITE_CONSTRAINT",
        _ => "SQLITE_ERROR",
    }
}

/// A failure on the user's own connection.
pub(crate) fn translate_sqlx(cause: sqlx::Error) -> Error {
    let extended = extended(&cause);
    let (code, detail) = match (extended, &cause) {
        (Some(extended), _) => named(extended),
        (None, sqlx::Error::PoolTimedOut) => (DATABASE_BUSY, "no connection became free in time"),
        (None, _) => (DATABASE_UNAVAILABLE, "the connection failed"),
    };
    let error = Error::new(code, detail).caused_by(cause);
    match extended {
        Some(extended) => error.native_code(native(extended)),
        None => error,
    }
}

fn extended(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).and_then(|code| code.parse().ok())
}

/// What went wrong on the user's own connection, for [`Constraints`](onefold_core::persistence::Constraints).
///
/// The extended result code alone decides what it is. The constraint is what SQLite says after it: the name of a
/// check, `table.column` of a unique index or a missing value, the text of `RAISE` in a trigger; a foreign key has none.
pub fn fault(error: &sqlx::Error) -> Fault {
    match (extended(error), error) {
        (Some(extended), _) => {
            let said = error.as_database_error().map(sqlx::error::DatabaseError::message).unwrap_or_default();
            Fault::of_sqlite(extended, constraint(extended, said))
        }
        (None, sqlx::Error::PoolTimedOut) => Fault::TooManyConnections,
        (None, sqlx::Error::Io(_) | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed) => Fault::ConnectionFailure,
        // A row that does not fit what is read from it, a value that cannot be sent: defects, not outages.
        (None, _) => Fault::Other { state: "DRIVER".into() },
    }
}

/// Whether a commit that failed so may be found after a crash all the same: all of it was written, and not synced.
pub(crate) fn leaves_commit_unknown(error: &sqlx::Error) -> bool {
    match extended(error) {
        Some(extended) => unsynced(extended),
        None => fault(error).leaves_commit_unknown(),
    }
}

fn unsynced(extended: i32) -> bool {
    matches!(extended, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
}

/// The constraint that SQLite names in the message of this code.
fn constraint(extended: i32, said: &str) -> Option<&str> {
    match extended {
        ffi::SQLITE_CONSTRAINT_TRIGGER => Some(said),
        _ => said.split_once(" constraint failed: ").map(|(_, name)| name),
    }
}

/// A failure to open a file, which names it.
pub(crate) fn opening(path: &Path, cause: rusqlite::Error) -> Error {
    let extended = cause.sqlite_error().map_or(ffi::SQLITE_ERROR, |error| error.extended_code);
    let (code, detail) = match extended & 0xff {
        ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM | ffi::SQLITE_AUTH => {
            (DATABASE_READ_ONLY, "the file or its folder cannot be opened for writing")
        }
        _ => named(extended),
    };
    let reason = if code == DATABASE_UNAVAILABLE { format!(": {cause}") } else { String::new() };
    Error::new(code, format!("{}: {detail}{reason}", path.display())).caused_by(cause)
}

/// A failure while a file is opened names the file, wherever it came from.
pub(crate) fn naming(path: &Path, error: Error) -> Error {
    let file = path.display().to_string();
    if error.detail().contains(&file) {
        return error;
    }
    Error::new(error.code(), format!("{file}: {}", error.detail())).hint(error.next_step()).caused_by(error)
}

fn named(extended: i32) -> (Code, &'static str) {
    match (extended, extended & 0xff) {
        (ffi::SQLITE_BUSY_SNAPSHOT, _) => (RUN_AGAIN, "another connection wrote after this transaction had read"),
        (_, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => (DATABASE_BUSY, "another connection holds the write transaction"),
        (_, ffi::SQLITE_READONLY) => (DATABASE_READ_ONLY, "the database does not allow writing"),
        (_, ffi::SQLITE_FULL) => (DATABASE_FULL, "there is no disk space for the commit"),
        (_, ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB) => (DATABASE_CORRUPT, "the file is damaged or not a database"),
        (
            _,
            ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN | ffi::SQLITE_PROTOCOL | ffi::SQLITE_NOMEM | ffi::SQLITE_INTERRUPT,
        ) => (DATABASE_UNAVAILABLE, "reading or writing the file failed"),
        (_, ffi::SQLITE_TOOBIG) => (LIMIT_EXCEEDED, "a value is larger than the database stores"),
        _ => (PROGRAMMING_INVARIANT_VIOLATED, "the database refused a statement"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_codes_become_registry_codes() {
        let rows = [
            (ffi::SQLITE_BUSY, DATABASE_BUSY),
            (ffi::SQLITE_BUSY_SNAPSHOT, RUN_AGAIN),
            (ffi::SQLITE_READONLY, DATABASE_READ_ONLY),
            (ffi::SQLITE_FULL, DATABASE_FULL),
            (ffi::SQLITE_CORRUPT, DATABASE_CORRUPT),
            (ffi::SQLITE_NOTADB, DATABASE_CORRUPT),
            (ffi::SQLITE_IOERR_FSYNC, DATABASE_UNAVAILABLE),
            (ffi::SQLITE_TOOBIG, LIMIT_EXCEEDED),
            (ffi::SQLITE_CONSTRAINT_CHECK, PROGRAMMING_INVARIANT_VIOLATED),
        ];
        for (extended, code) in rows {
            let cause = rusqlite::Error::SqliteFailure(ffi::Error::new(extended), None);
            assert_eq!(translate(cause).code(), code, "{extended}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_or_written_keeps_its_reason() {
        let failed =
            || rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_FSYNC), Some("disk I/O error".into()));
        assert!(translate(failed()).detail().ends_with("disk I/O error"), "{}", translate(failed()));
        let opened = opening(Path::new("x.db"), failed());
        assert!(opened.detail().starts_with("x.db: ") && opened.detail().ends_with("disk I/O error"), "{opened}");
    }

    #[test]
    fn a_commit_is_unknown_only_where_it_was_written_and_not_synced() {
        let rows = [
            (ffi::SQLITE_IOERR_FSYNC, true),
            (ffi::SQLITE_IOERR_DIR_FSYNC, true),
            (ffi::SQLITE_IOERR_WRITE, false),
            (ffi::SQLITE_FULL, false),
            (ffi::SQLITE_BUSY, false),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, false),
        ];
        for (extended, unknown) in rows {
            assert_eq!(unsynced(extended), unknown, "{extended}");
        }
        assert!(leaves_commit_unknown(&sqlx::Error::WorkerCrashed));
    }

    /// What SQLite itself says of each broken constraint.
    #[tokio::test]
    async fn a_fault_names_its_constraint() {
        use sqlx::{Connection as _, Executor as _};
        let mut connection = sqlx::SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let schema = "PRAGMA foreign_keys = ON;
            CREATE TABLE actors (id TEXT PRIMARY KEY);
            CREATE TABLE cases (
                reference TEXT NOT NULL UNIQUE,
                status TEXT CONSTRAINT case_status_known CHECK (status = 'OPEN'),
                actor TEXT REFERENCES actors (id)
            );
            CREATE TRIGGER refuse BEFORE INSERT ON cases WHEN NEW.reference = 'T' BEGIN
                SELECT RAISE(ABORT, 'case_refused');
            END;
            INSERT INTO cases (reference) VALUES ('A');";
        connection.execute(schema).await.unwrap();
        let rows = [
            ("INSERT INTO cases (reference) VALUES ('A')", "UniqueViolation", Some("cases.reference")),
            ("INSERT INTO cases VALUES ('B', 'SHUT', NULL)", "CheckViolation", Some("case_status_known")),
            ("INSERT INTO cases (status) VALUES ('OPEN')", "NotNullViolation", Some("cases.reference")),
            ("INSERT INTO cases VALUES ('B', 'OPEN', 'nobody')", "ForeignKeyViolation", None),
            ("INSERT INTO cases (reference) VALUES ('T')", "Raised", Some("case_refused")),
            ("INSERT INTO nowhere VALUES (1)", "Other", None),
        ];
        for (statement, kind, constraint) in rows {
            let fault = fault(&connection.execute(statement).await.unwrap_err());
            assert!(format!("{fault:?}").starts_with(kind), "{statement}: {fault:?}");
            assert_eq!(fault.constraint(), constraint, "{statement}");
        }
    }

    #[test]
    fn a_fault_of_the_driver_is_an_outage_only_where_the_connection_failed() {
        assert_eq!(fault(&sqlx::Error::PoolTimedOut), Fault::TooManyConnections);
        assert_eq!(fault(&sqlx::Error::PoolClosed), Fault::ConnectionFailure);
        assert_eq!(fault(&sqlx::Error::WorkerCrashed), Fault::ConnectionFailure);
        assert!(matches!(fault(&sqlx::Error::RowNotFound), Fault::Other { .. }));
    }
}
