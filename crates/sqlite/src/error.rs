//! From SQLite's result codes to the registry; never by message text.

use std::path::Path;

use onefold_core::Error;
use onefold_core::error::{
    Code, DATABASE_BUSY, DATABASE_CORRUPT, DATABASE_FULL, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE, LIMIT_EXCEEDED,
    PROGRAMMING_INVARIANT_VIOLATED, RUN_AGAIN,
};
use rusqlite::ffi;

/// A failure on an open connection.
pub(crate) fn translate(cause: rusqlite::Error) -> Error {
    let extended = cause.sqlite_error().map_or(ffi::SQLITE_ERROR, |error| error.extended_code);
    let (code, detail) = named(extended);
    let detail = if code == PROGRAMMING_INVARIANT_VIOLATED { format!("{detail}: {cause}") } else { detail.to_owned() };
    Error::new(code, detail).stored_as(native(extended)).caused_by(cause)
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
    let extended =
        cause.as_database_error().and_then(sqlx::error::DatabaseError::code).and_then(|code| code.parse().ok());
    let (code, detail) = match (extended, &cause) {
        (Some(extended), _) => named(extended),
        (None, sqlx::Error::PoolTimedOut) => (DATABASE_BUSY, "no connection became free in time"),
        (None, _) => (DATABASE_UNAVAILABLE, "the connection failed"),
    };
    Error::new(code, detail).caused_by(cause)
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
    Error::new(code, format!("{}: {detail}", path.display())).caused_by(cause)
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
        (_, ffi::SQLITE_FULL) => (DATABASE_FULL, "there is no room for the commit"),
        (_, ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB) => (DATABASE_CORRUPT, "the file is damaged or no database"),
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
}
