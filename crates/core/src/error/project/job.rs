//! What becomes of a job whose handling failed, and what may be thrown into a process.

use std::fmt;

use crate::error::{Code, ErrorClass, Override};
use crate::ledger::named;

named! {
    /// What becomes of a job whose handling failed.
    JobAnswer {
        /// The process takes the path that it declares for the code; where it declares none, an incident.
        BpmnErrorOrIncident = "BPMN_ERROR_OR_INCIDENT",
        /// The process takes the declared path; where it declares none, the job is tried again.
        BpmnErrorOrRetry = "BPMN_ERROR_OR_RETRY",
        /// The job is completed with the recorded result.
        Complete = "COMPLETE",
        /// The job is tried again after a wait.
        Retry = "RETRY",
        /// It is tried again while nothing was sent; afterwards its outcome is unknown.
        RetryOrUnknown = "RETRY_OR_UNKNOWN",
        /// An incident.
        Incident = "INCIDENT",
        /// An incident; once something was sent, its outcome is unknown.
        IncidentOrUnknown = "INCIDENT_OR_UNKNOWN",
    }
}

impl JobAnswer {
    /// The answer of a class.
    pub const fn of_class(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Validation | ErrorClass::DomainRule | ErrorClass::Conflict | ErrorClass::Authorization => {
                Self::BpmnErrorOrIncident
            }
            ErrorClass::NotFound => Self::BpmnErrorOrRetry,
            ErrorClass::Duplicate => Self::Complete,
            ErrorClass::OptimisticLock | ErrorClass::Contention => Self::Retry,
            ErrorClass::Dependency => Self::RetryOrUnknown,
            ErrorClass::Contract | ErrorClass::Process | ErrorClass::Operational => Self::Incident,
            ErrorClass::Bug => Self::IncidentOrUnknown,
        }
    }
}

impl Code {
    /// What becomes of a job that fails with it.
    pub fn job_answer(self) -> JobAnswer {
        let instead = self.descriptor().overrides.iter().find_map(|one| match one {
            Override::Job(answer, _) => Some(*answer),
            Override::Verdict(..) | Override::Log(..) => None,
        });
        instead.unwrap_or(JobAnswer::of_class(self.descriptor().class))
    }
}

/// A code that may be thrown into a process: a business outcome, never a technical failure.
///
/// Made by [`throw!`](crate::throw); a code of another class does not compile.
///
/// ```
/// use onefold_core::error::OPERATION_CONFLICT;
/// assert_eq!(onefold_core::throw!(OPERATION_CONFLICT).as_str(), "OPERATION_CONFLICT");
/// ```
///
/// ```compile_fail
/// use onefold_core::error::DATABASE_UNAVAILABLE;
/// let thrown = onefold_core::throw!(DATABASE_UNAVAILABLE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BpmnCode(Code);

impl BpmnCode {
    /// This code, if its class may be thrown. A panic here is a compile error in [`throw!`](crate::throw).
    ///
    /// # Panics
    ///
    /// Where the class is technical: a process must not take a business path because a database is down.
    pub const fn of(code: Code) -> Self {
        match code.descriptor().class {
            ErrorClass::Validation
            | ErrorClass::DomainRule
            | ErrorClass::Authorization
            | ErrorClass::NotFound
            | ErrorClass::Conflict => Self(code),
            ErrorClass::Duplicate
            | ErrorClass::OptimisticLock
            | ErrorClass::Contention
            | ErrorClass::Dependency
            | ErrorClass::Contract
            | ErrorClass::Process
            | ErrorClass::Operational
            | ErrorClass::Bug => panic!("only business outcomes may be thrown as a BPMN error"),
        }
    }

    /// The same, decided at run time.
    pub const fn try_of(code: Code) -> Option<Self> {
        match code.descriptor().class {
            ErrorClass::Validation
            | ErrorClass::DomainRule
            | ErrorClass::Authorization
            | ErrorClass::NotFound
            | ErrorClass::Conflict => Some(Self(code)),
            ErrorClass::Duplicate
            | ErrorClass::OptimisticLock
            | ErrorClass::Contention
            | ErrorClass::Dependency
            | ErrorClass::Contract
            | ErrorClass::Process
            | ErrorClass::Operational
            | ErrorClass::Bug => None,
        }
    }

    /// The code.
    pub const fn code(self) -> Code {
        self.0
    }

    /// Its name, as a boundary event catches it.
    pub const fn as_str(self) -> &'static str {
        self.0.as_str()
    }
}

impl fmt::Display for BpmnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A code to throw into a process. One whose class is technical does not compile.
#[macro_export]
macro_rules! throw {
    ($code:expr) => {
        const { $crate::error::BpmnCode::of($code) }
    };
}
