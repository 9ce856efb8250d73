//! What a use case answers: typed, closed, and projected in one place.
//!
//! An expected failure is part of the use case, not an exception. [`UseCaseOutcome`] is the usual set; a use
//! case with words of its own writes its own enum and derives [`Project`].

use std::fmt;

use crate::error::{Code, Error, Severity, Violation};

/// The usual answers of a use case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseCaseOutcome<T, E> {
    /// It is done.
    Accepted(T),
    /// It will be done; ask for this reference.
    Pending {
        /// Where to ask.
        reference: String,
    },
    /// The same was done before.
    Duplicate {
        /// What came of it then.
        existing: T,
    },
    /// It was done before, and nothing is left to show of it.
    AlreadyCompleted,
    /// A rule says no.
    Rejected {
        /// Which, and where.
        findings: Vec<Violation>,
    },
    /// It contradicts what is recorded.
    Conflict(E),
    /// It failed.
    Failed {
        /// With this.
        error: E,
        /// Whether trying again may help.
        transient: bool,
    },
}

/// An error of a domain or use case: knows its code and what may be said of it, nothing of HTTP, brokers or engines.
pub trait Coded {
    /// The registered code.
    fn code(&self) -> Code;

    /// What happened, in words that may leave.
    fn safe_message(&self) -> String {
        self.code().descriptor().guide.summary.to_owned()
    }

    /// The error to project.
    fn to_error(&self) -> Error {
        Error::new(self.code(), self.safe_message())
    }
}

impl Coded for Code {
    fn code(&self) -> Code {
        *self
    }
}

/// How something is shown to the outside.
///
/// Derived with `#[derive(Project)]`. Each variant has a status and a code: a text for a success,
/// which labels metrics, or a registered code for a failure; `#[project(transparent)]` passes its
/// field's projection on, and a field with `#[project(findings)]` holds the findings.
pub trait Project {
    /// How it is shown.
    fn projection(&self) -> Projection;
}

/// What is shown.
#[derive(Debug)]
pub enum Projection {
    /// A success.
    Success {
        /// The HTTP status.
        status: u16,
        /// What it is called in metrics.
        label: &'static str,
    },
    /// A failure.
    Failure {
        /// The HTTP status, which may differ from its code's own.
        status: u16,
        /// What to project.
        error: Box<Error>,
    },
}

impl Projection {
    /// A success of this status.
    pub fn success(status: u16, label: &'static str) -> Self {
        Self::Success { status, label }
    }

    /// A failure with this code and these findings.
    pub fn failure(status: u16, failed: &impl Coded, findings: Vec<Violation>) -> Self {
        Self::Failure { status, error: Box::new(failed.to_error().violating(findings)) }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        match self {
            Self::Success { status, .. } | Self::Failure { status, .. } => *status,
        }
    }

    /// The error, unless it is a success.
    pub fn error(&self) -> Option<&Error> {
        match self {
            Self::Success { .. } => None,
            Self::Failure { error, .. } => Some(error),
        }
    }
}

impl<T: fmt::Debug, E: Coded> Project for UseCaseOutcome<T, E> {
    fn projection(&self) -> Projection {
        let failed = |error: &E| {
            let error = error.to_error();
            Projection::Failure { status: error.code().descriptor().status, error: Box::new(error) }
        };
        match self {
            Self::Accepted(_) => Projection::success(201, "ACCEPTED"),
            Self::Pending { .. } => Projection::success(202, "PENDING"),
            Self::Duplicate { .. } => Projection::success(200, "DUPLICATE"),
            Self::AlreadyCompleted => Projection::success(200, "ALREADY_COMPLETED"),
            Self::Rejected { findings } => {
                Projection::failure(422, &crate::error::VALIDATION_REJECTED, findings.clone())
            }
            Self::Conflict(error) | Self::Failed { error, .. } => failed(error),
        }
    }
}

/// Gathers findings; those of severity ERROR reject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings(Vec<Violation>);

impl Findings {
    /// Findings that a validation may gather; a flood of them does not help.
    pub const MAX: usize = 100;

    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that rejects. A blank path or message is refused as by [`Violation::new`].
    #[track_caller]
    pub fn error(&mut self, path: impl Into<String>, code: Code, message: impl Into<String>) -> &mut Self {
        self.add(path.into(), code, message.into(), Severity::Error)
    }

    /// One that is returned with the success. A blank path or message is refused as by [`Violation::new`].
    #[track_caller]
    pub fn warning(&mut self, path: impl Into<String>, code: Code, message: impl Into<String>) -> &mut Self {
        self.add(path.into(), code, message.into(), Severity::Warning)
    }

    #[track_caller]
    fn add(&mut self, path: String, code: Code, message: String, severity: Severity) -> &mut Self {
        if self.0.len() < Self::MAX {
            self.0.push(Violation::new(path, code, message, severity));
        }
        self
    }

    /// Whether one of them rejects.
    pub fn reject(&self) -> bool {
        self.0.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<Violation> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{OPERATION_CONFLICT, REQUEST_BODY_INVALID};

    #[test]
    fn every_outcome_has_its_status() {
        let rows: [(UseCaseOutcome<u8, Code>, u16); 8] = [
            (UseCaseOutcome::Accepted(1), 201),
            (UseCaseOutcome::Pending { reference: "op_x".into() }, 202),
            (UseCaseOutcome::Duplicate { existing: 1 }, 200),
            (UseCaseOutcome::AlreadyCompleted, 200),
            (UseCaseOutcome::Rejected { findings: Vec::new() }, 422),
            (UseCaseOutcome::Conflict(OPERATION_CONFLICT), 422),
            (UseCaseOutcome::Failed { error: crate::error::DATABASE_UNAVAILABLE, transient: true }, 503),
            (UseCaseOutcome::Failed { error: crate::error::INTERNAL_ERROR, transient: false }, 500),
        ];
        for (outcome, status) in rows {
            assert_eq!(outcome.projection().status(), status, "{outcome:?}");
        }
    }

    #[test]
    fn only_errors_reject_and_findings_are_bounded() {
        let mut findings = Findings::new();
        findings.warning("$.note", REQUEST_BODY_INVALID, "is long");
        assert!(!findings.reject());
        for _ in 0..1_000 {
            findings.error("$.amount", REQUEST_BODY_INVALID, "is negative");
        }
        assert!(findings.reject());
        assert_eq!(findings.into_vec().len(), Findings::MAX);
    }
}
