//! What a database says went wrong.

use std::sync::Arc;

/// What a database says went wrong. The constraint is its name in the schema, which is a contract.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Two rows would have one key.
    UniqueViolation {
        /// The constraint.
        constraint: Option<Arc<str>>,
    },
    /// A row refers to one that is not there.
    ForeignKeyViolation {
        /// The constraint.
        constraint: Option<Arc<str>>,
    },
    /// A row breaks a rule of its table.
    CheckViolation {
        /// The constraint.
        constraint: Option<Arc<str>>,
    },
    /// A value is missing.
    NotNullViolation {
        /// The column, where it is told.
        constraint: Option<Arc<str>>,
    },
    /// A function or trigger refused, by the convention that the constraint's name says why.
    Raised {
        /// What it says.
        constraint: Option<Arc<str>>,
    },
    /// Concurrent transactions could not be put into an order.
    SerializationFailure,
    /// Two transactions waited for each other.
    DeadlockDetected,
    /// A row or table is held by another transaction.
    RowsHeld,
    /// The connection failed or was refused.
    ConnectionFailure,
    /// There is no disk space.
    OutOfSpace,
    /// The database takes no further connection.
    TooManyConnections,
    /// The statement was ended, by a timeout or a person.
    QueryCancelled,
    /// The database stops.
    Shutdown,
    /// The database does not take writes: a standby, or a file without permission.
    ReadOnly,
    /// The database does not let this user in.
    LoginRefused,
    /// There is no database of that name.
    NoSuchDatabase,
    /// The user lacks a permission, or there is no schema it may write to.
    NotAllowed,
    /// The stored data is damaged.
    Damaged,
    /// Anything else.
    Other {
        /// The SQLSTATE or result code.
        state: Arc<str>,
    },
}

impl Fault {
    /// The fault of a PostgreSQL SQLSTATE.
    pub fn of_sql_state(state: &str, constraint: Option<&str>) -> Self {
        let constraint = constraint.filter(|name| !name.is_empty()).map(Arc::from);
        match state {
            "23505" => Self::UniqueViolation { constraint },
            "23503" => Self::ForeignKeyViolation { constraint },
            // An exclusion constraint is a rule of the table as a check is.
            "23514" | "23P01" => Self::CheckViolation { constraint },
            "23502" => Self::NotNullViolation { constraint },
            "P0001" => Self::Raised { constraint },
            "40001" => Self::SerializationFailure,
            "40P01" => Self::DeadlockDetected,
            "55P03" => Self::RowsHeld,
            "53100" => Self::OutOfSpace,
            "53300" => Self::TooManyConnections,
            "57014" => Self::QueryCancelled,
            "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => Self::Shutdown,
            "25006" => Self::ReadOnly,
            "28000" | "28P01" => Self::LoginRefused,
            "3D000" => Self::NoSuchDatabase,
            "42501" | "3F000" => Self::NotAllowed,
            "XX001" | "XX002" => Self::Damaged,
            // An idle transaction that was ended, a server without memory or disk: passing, and no defect of ours.
            "25P03" | "53000" | "53200" | "53400" => Self::ConnectionFailure,
            _ if state.starts_with("08") || state.starts_with("58") => Self::ConnectionFailure,
            _ => Self::Other { state: Arc::from(state) },
        }
    }

    /// The fault of an SQLite extended result code; the constraint is what SQLite names beside it.
    pub fn of_sqlite(extended: i32, constraint: Option<&str>) -> Self {
        let constraint = constraint.filter(|name| !name.is_empty()).map(Arc::from);
        match (extended, extended & 0xff) {
            // UNIQUE, PRIMARYKEY, ROWID
            (2067 | 1555 | 2579, _) => Self::UniqueViolation { constraint },
            (787, _) => Self::ForeignKeyViolation { constraint },
            (275, _) => Self::CheckViolation { constraint },
            (1299, _) => Self::NotNullViolation { constraint },
            // RAISE in a trigger
            (1811, _) => Self::Raised { constraint },
            // BUSY_SNAPSHOT: this transaction read before another one committed.
            (517, _) => Self::SerializationFailure,
            (_, 5 | 6) => Self::RowsHeld,
            (_, 8) => Self::ReadOnly,
            (_, 9) => Self::QueryCancelled,
            // NOMEM, IOERR, CANTOPEN, PROTOCOL
            (_, 7 | 10 | 14 | 15) => Self::ConnectionFailure,
            // CORRUPT, NOTADB
            (_, 11 | 26) => Self::Damaged,
            (_, 13) => Self::OutOfSpace,
            _ => Self::Other { state: Arc::from(extended.to_string()) },
        }
    }

    /// Whether a commit that ended so may have taken hold all the same: the database did not say that it took it back.
    pub fn leaves_commit_unknown(&self) -> bool {
        match self {
            Self::ConnectionFailure | Self::Shutdown | Self::Damaged => true,
            // What the driver could not read may have been a yes.
            Self::Other { state } => matches!(&**state, "40003" | "DRIVER"),
            Self::UniqueViolation { .. }
            | Self::ForeignKeyViolation { .. }
            | Self::CheckViolation { .. }
            | Self::NotNullViolation { .. }
            | Self::Raised { .. }
            | Self::SerializationFailure
            | Self::DeadlockDetected
            | Self::RowsHeld
            | Self::OutOfSpace
            | Self::TooManyConnections
            | Self::QueryCancelled
            | Self::ReadOnly
            | Self::LoginRefused
            | Self::NoSuchDatabase
            | Self::NotAllowed => false,
        }
    }

    /// The constraint that was broken.
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Self::UniqueViolation { constraint }
            | Self::ForeignKeyViolation { constraint }
            | Self::CheckViolation { constraint }
            | Self::NotNullViolation { constraint }
            | Self::Raised { constraint } => constraint.as_deref(),
            Self::SerializationFailure
            | Self::DeadlockDetected
            | Self::RowsHeld
            | Self::ConnectionFailure
            | Self::OutOfSpace
            | Self::TooManyConnections
            | Self::QueryCancelled
            | Self::Shutdown
            | Self::ReadOnly
            | Self::LoginRefused
            | Self::NoSuchDatabase
            | Self::NotAllowed
            | Self::Damaged
            | Self::Other { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_unknown_only_where_the_database_did_not_take_it_back() {
        for state in ["08006", "08007", "40003", "57P01", "57P02", "58030", "XX001"] {
            assert!(Fault::of_sql_state(state, None).leaves_commit_unknown(), "{state}");
        }
        for state in ["23505", "23503", "40001", "40P01", "53100", "57014", "25006", "P0001"] {
            assert!(!Fault::of_sql_state(state, None).leaves_commit_unknown(), "{state}");
        }
    }
}
