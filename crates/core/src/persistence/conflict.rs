//! What was read has changed since: told, retried where that is declared safe, or already done.

use std::fmt;

use crate::error::{Code, Error, ErrorClass, OPTIMISTIC_LOCK_CONFLICT};

/// A change was based on a version that is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcurrencyConflict {
    /// The registry's or the application's code.
    pub code: Code,
    /// What was to be changed.
    pub resource: String,
    /// The version that the change was based on.
    pub expected_version: String,
    /// The version that is there.
    pub actual_version: String,
}

impl ConcurrencyConflict {
    /// A conflict about this resource.
    pub fn new(resource: impl Into<String>, expected: impl fmt::Display, actual: impl fmt::Display) -> Self {
        Self {
            code: OPTIMISTIC_LOCK_CONFLICT,
            resource: resource.into(),
            expected_version: expected.to_string(),
            actual_version: actual.to_string(),
        }
    }
}

impl From<ConcurrencyConflict> for Error {
    fn from(conflict: ConcurrencyConflict) -> Self {
        let ConcurrencyConflict { code, resource, expected_version, actual_version } = conflict;
        let detail = format!("{resource} is at version {actual_version}, not {expected_version}");
        Error::new(code, detail)
            .hint("read it again and decide again")
            .with_fact("resource", resource)
            .with_fact("expectedVersion", expected_version)
            .with_fact("actualVersion", actual_version)
    }
}

/// A row as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// Its version.
    pub version: String,
    /// Whether the change has taken hold before.
    pub applied: bool,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transitioned {
    /// It took hold.
    Applied,
    /// It had taken hold before.
    AlreadyApplied,
    /// Somebody else changed the row, or it is not there.
    Conflict(ConcurrencyConflict),
}

impl Transitioned {
    /// What became of a change that changed no row, by the row as it is; none where it is not there.
    pub fn unchanged(resource: impl Into<String>, expected: impl fmt::Display, current: Option<Current>) -> Self {
        let actual = match current {
            Some(Current { applied: true, .. }) => return Self::AlreadyApplied,
            Some(Current { version, applied: false }) => version,
            None => "absent".to_owned(),
        };
        Self::Conflict(ConcurrencyConflict::new(resource, expected, actual))
    }
}

/// Runs of one commutative handler at most.
const RUNS_MAX: u32 = 3;

/// Whether a handler whose changes may come in any order is run again; `runs` are those so far.
pub fn rerun_on_conflict(error: &Error, runs: u32) -> bool {
    runs < RUNS_MAX && error.code().descriptor().class == ErrorClass::OptimisticLock
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::DATABASE_UNAVAILABLE;

    #[test]
    fn a_change_of_no_row_was_applied_before_or_is_a_conflict() {
        let change = |current| Transitioned::unchanged("case CASE-1", 3, current);
        let at = |version: &str, applied| Some(Current { version: version.to_owned(), applied });
        assert_eq!(change(at("4", true)), Transitioned::AlreadyApplied);
        let conflict = |actual: &str| Transitioned::Conflict(ConcurrencyConflict::new("case CASE-1", 3, actual));
        assert_eq!(change(at("7", false)), conflict("7"));
        assert_eq!(change(None), conflict("absent"));
        let error = Error::from(ConcurrencyConflict::new("case CASE-1", 3, 7));
        assert_eq!(error.code(), OPTIMISTIC_LOCK_CONFLICT);
        assert_eq!(error.detail(), "case CASE-1 is at version 7, not 3");
    }

    #[test]
    fn a_conflict_is_run_three_times_and_nothing_else_twice() {
        let conflict = Error::from(ConcurrencyConflict::new("case", 1, 2));
        assert_eq!([1, 2, 3].map(|runs| rerun_on_conflict(&conflict, runs)), [true, true, false]);
        assert!(!rerun_on_conflict(&Error::new(DATABASE_UNAVAILABLE, "x"), 1));
    }
}
