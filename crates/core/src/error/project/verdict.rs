//! What becomes of a message whose handling failed.

use crate::error::{Code, ErrorClass, Override};
use crate::ledger::named;

named! {
    /// What becomes of a message whose handling failed.
    Verdict {
        /// It is done with: the failure is an answer, or it was done before.
        Handled = "HANDLED",
        /// It is tried again, a bounded number of times.
        Retry = "RETRY",
        /// It waits for what may still arrive; then it is quarantined.
        Park = "PARK",
        /// It is set aside with its contract, and the next one is handled.
        Quarantine = "QUARANTINE",
        /// The consumer stops, or the message is quarantined, as the consumer declares.
        StopOrQuarantine = "STOP_OR_QUARANTINE",
    }
}

impl Verdict {
    /// The verdict of a class.
    pub const fn of_class(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Validation | ErrorClass::Authorization | ErrorClass::Contract => Self::Quarantine,
            ErrorClass::DomainRule | ErrorClass::Conflict | ErrorClass::Duplicate => Self::Handled,
            ErrorClass::NotFound => Self::Park,
            ErrorClass::OptimisticLock
            | ErrorClass::Contention
            | ErrorClass::Dependency
            | ErrorClass::Process
            | ErrorClass::Operational => Self::Retry,
            ErrorClass::Bug => Self::StopOrQuarantine,
        }
    }
}

impl Code {
    /// What becomes of a message that fails with it.
    pub fn verdict(self) -> Verdict {
        let instead = self.descriptor().overrides.iter().find_map(|one| match one {
            Override::Verdict(verdict, _) => Some(*verdict),
            Override::Job(..) | Override::Log(..) => None,
        });
        instead.unwrap_or(Verdict::of_class(self.descriptor().class))
    }
}
