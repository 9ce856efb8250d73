//! From SQLSTATEs to the registry; never by message text.

use onefold_core::Error;
use onefold_core::error::{DATABASE_BUSY, DATABASE_UNAVAILABLE, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::persistence::{Constraints, Fault};
use sqlx::postgres::PgSeverity;

/// What went wrong on a connection, for [`Constraints`].
///
/// The SQLSTATE alone decides what it is; the constraint's name is PostgreSQL's own.
pub fn fault(error: &sqlx::Error) -> Fault {
    match (error.as_database_error(), error) {
        (Some(said), _) => {
            let said = said.downcast_ref::<sqlx::postgres::PgDatabaseError>();
            // A missing value names its column; everything else its constraint.
            Fault::of_sql_state(said.code(), said.constraint().or(said.column()))
        }
        (None, sqlx::Error::PoolTimedOut) => Fault::TooManyConnections,
        (
            None,
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::BeginFailed
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed,
        ) => Fault::ConnectionFailure,
        // A row that does not fit what is read from it, a value that cannot be sent: defects, not outages.
        (None, _) => Fault::Other { state: "DRIVER".into() },
    }
}

/// Whether a commit that failed so may have taken hold: the server did not answer, or ended the session over it.
pub(crate) fn leaves_commit_unknown(cause: &sqlx::Error) -> bool {
    let said = cause.as_database_error().map(|said| said.downcast_ref::<sqlx::postgres::PgDatabaseError>().severity());
    matches!(said, None | Some(PgSeverity::Fatal | PgSeverity::Panic)) || fault(cause).leaves_commit_unknown()
}

/// A failure of one of our own statements.
pub(crate) fn translate(cause: sqlx::Error) -> Error {
    if matches!(cause, sqlx::Error::PoolTimedOut) {
        return Error::new(DATABASE_BUSY, "no connection became free in time")
            .hint("end transactions before beginning others, or allow more connections")
            .caused_by(cause);
    }
    let fault = fault(&cause);
    let state = cause.as_database_error().and_then(sqlx::error::DatabaseError::code).map(|state| native(&state));
    let error = Constraints::new().error(&fault);
    let error = match reason(&cause) {
        _ if error.code() == PROGRAMMING_INVARIANT_VIOLATED => {
            Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("{}: {cause}", error.detail()))
        }
        Some(reason) if error.code() == DATABASE_UNAVAILABLE => {
            Error::new(DATABASE_UNAVAILABLE, format!("{}: {reason}", error.detail())).hint(error.next_step())
        }
        Some(_) | None => error,
    };
    let error = match fault.constraint() {
        Some(constraint) => error.breaking(constraint),
        None => error,
    };
    let error = match state {
        Some(state) => error.native_code(state),
        None => error,
    };
    error.caused_by(cause)
}

/// Why the database did not answer, in the words of the system or of the server. An address and its password are in
/// neither: the driver keeps them out of these.
fn reason(cause: &sqlx::Error) -> Option<String> {
    if let Some(said) = cause.as_database_error() {
        return Some(said.message().to_owned());
    }
    let outage = matches!(cause, sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_));
    outage.then(|| cause.to_string())
}

/// A SQLSTATE that labels metrics; those that need no action are one.
fn native(state: &str) -> &'static str {
    const KNOWN: [&str; 16] = [
        "08000", "08003", "08006", "22021", "22P02", "23502", "23505", "23514", "25006", "40001", "40P01", "53100",
        "53300", "55P03", "57014", "57P01",
    ];
    KNOWN.into_iter().find(|known| *known == state).unwrap_or("other")
}
