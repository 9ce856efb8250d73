//! What submitting a case answers, and how each answer is shown.

use std::time::Duration;

use onefold::Project;
use onefold::error::{Code, DATABASE_BUSY, Error, ErrorClass, PROGRAMMING_INVARIANT_VIOLATED, Violation};
use onefold::use_case::{Coded, Project as _, Projection};
use serde::{Deserialize, Serialize};

use crate::domain::CaseDomainError;
use crate::errors::{CASE_DUPLICATE_SUBMISSION, CASE_VALIDATION_REJECTED};

/// A case that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Submitted {
    /// Its id.
    pub case_id: String,
    /// When it was accepted.
    pub submitted_at: String,
    /// What was noticed and does not reject.
    pub warnings: Vec<Violation>,
}

/// What became of a submission.
#[derive(Debug, PartialEq, Eq, Project, Serialize)]
#[serde(untagged)]
pub enum SubmitCaseResult {
    /// It is a case now.
    #[project(status = 201, code = "ACCEPTED")]
    Accepted(Submitted),
    /// It was a case already.
    #[project(status = 200, code = "DUPLICATE")]
    Duplicate(Submitted),
    /// Rules say no.
    #[project(status = 422, code = CASE_VALIDATION_REJECTED)]
    #[serde(skip_serializing)]
    Rejected {
        /// Which, and where.
        #[project(findings)]
        findings: Vec<Violation>,
    },
    /// It failed.
    #[project(transparent)]
    #[serde(skip_serializing)]
    Failed(SubmitCaseApplicationError),
}

/// Why a submission failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitCaseApplicationError {
    /// A rule of the domain was broken.
    DomainFailure(CaseDomainError),
    /// The actor may not.
    AuthorizationFailure {
        /// As what it is known.
        code: Code,
        /// Who.
        actor_id: String,
    },
    /// Something that this service rests on does not answer now.
    TransientFailure {
        /// As what it is known.
        code: Code,
        /// What.
        dependency: &'static str,
        /// What it calls the failure itself; for the log alone.
        native: Option<&'static str>,
    },
    /// Something that cannot be was found.
    InvariantViolation {
        /// What; for the log alone.
        detail: String,
    },
}

impl SubmitCaseApplicationError {
    /// What a failure of the store means for the submission.
    pub fn of_store(error: &Error) -> Self {
        match error.code().descriptor().class {
            ErrorClass::Contention | ErrorClass::Dependency | ErrorClass::Operational => {
                Self::TransientFailure { code: error.code(), dependency: "database", native: error.native() }
            }
            ErrorClass::Validation
            | ErrorClass::DomainRule
            | ErrorClass::Authorization
            | ErrorClass::NotFound
            | ErrorClass::Conflict
            | ErrorClass::Duplicate
            | ErrorClass::OptimisticLock
            | ErrorClass::Contract
            | ErrorClass::Process
            | ErrorClass::Bug => Self::InvariantViolation { detail: error.to_string() },
        }
    }
}

impl Coded for SubmitCaseApplicationError {
    fn code(&self) -> Code {
        match self {
            Self::DomainFailure(broken) => broken.code(),
            Self::AuthorizationFailure { code, .. } | Self::TransientFailure { code, .. } => *code,
            Self::InvariantViolation { .. } => PROGRAMMING_INVARIANT_VIOLATED,
        }
    }

    fn safe_message(&self) -> String {
        match self {
            Self::DomainFailure(broken) => broken.safe_message(),
            Self::AuthorizationFailure { .. } => "this actor may not submit cases".to_owned(),
            Self::TransientFailure { dependency, .. } => format!("the {dependency} does not answer now"),
            Self::InvariantViolation { .. } => self.code().descriptor().guide.summary.to_owned(),
        }
    }

    /// What a store says, and the detail of a broken invariant, are for the log; their codes let none of it out.
    fn to_error(&self) -> Error {
        match self {
            Self::InvariantViolation { detail } => Error::new(self.code(), detail),
            Self::TransientFailure { native: Some(native), .. } => {
                Error::new(self.code(), self.safe_message()).native_code(native)
            }
            Self::DomainFailure(_) | Self::AuthorizationFailure { .. } | Self::TransientFailure { .. } => {
                Error::new(self.code(), self.safe_message())
            }
        }
    }
}

impl onefold::use_case::Project for SubmitCaseApplicationError {
    fn projection(&self) -> Projection {
        Projection::failure(self.code().descriptor().status, self, Vec::new())
    }
}

/// What a key says of a submission.
#[derive(Debug, PartialEq, Eq, Project, Serialize)]
#[serde(untagged)]
pub enum IdempotencyDecision {
    /// It is new; this came of it.
    #[project(transparent)]
    FirstAttempt(SubmitCaseResult),
    /// It stands for this very submission, which was accepted before.
    #[project(transparent)]
    ReplayCompleted(SubmitCaseResult),
    /// It stands for another submission.
    #[project(status = 409, code = CASE_DUPLICATE_SUBMISSION)]
    #[serde(skip_serializing)]
    ConflictWithDifferentPayload,
    /// Another transaction is at it.
    #[project(status = 503, code = DATABASE_BUSY)]
    #[serde(skip_serializing)]
    InProgress {
        /// When asking again makes sense.
        retry_after: Duration,
    },
}

impl IdempotencyDecision {
    /// A first attempt that failed.
    pub fn failed(error: SubmitCaseApplicationError) -> Self {
        Self::FirstAttempt(SubmitCaseResult::Failed(error))
    }

    /// The HTTP status that it is shown with.
    pub fn status(&self) -> u16 {
        self.projection().status()
    }
}
