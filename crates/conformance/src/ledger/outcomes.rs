//! What attempts say happened.

use std::sync::Arc;

use onefold_core::ledger::{Completion, Failure, Outcome, SideEffect, StoredResult};
use onefold_core::retry::Category;

onefold_core::codes! {
    /// The case is closed
    CASE_CLOSED: DomainRule, status 409, retry Never, owner Application, visible External;
        summary "the case does not take notices any more",
        first_check "the case's state",
        safe_action "none: the caller chooses another case",
        escalation "case team";
}

/// It took hold, with these bytes.
pub fn completed(bytes: &[u8]) -> Outcome {
    Outcome::Completed(completion(bytes, None))
}

/// It took hold, and the proof lies there.
pub fn proved(bytes: &[u8], evidence: &str) -> Outcome {
    Outcome::Completed(completion(bytes, Some(evidence)))
}

/// A result with or without its proof.
pub fn completion(bytes: &[u8], evidence: Option<&str>) -> Completion {
    Completion { result: StoredResult::json(bytes), evidence: evidence.map(Arc::from) }
}

/// The provider said no, for good.
pub fn rejected() -> Outcome {
    Outcome::FailedFinal(Failure::business(CASE_CLOSED))
}

/// It will never work, for a technical reason.
pub fn broken(category: Category) -> Outcome {
    Outcome::FailedFinal(Failure::technical(category, SideEffect::NotApplied))
}

/// It surely did not take hold and may be tried again.
pub fn retryable(category: Category) -> Outcome {
    Outcome::FailedRetryable(Failure::technical(category, SideEffect::NotApplied))
}

/// It may or may not have taken hold.
pub fn unknown(category: Category) -> Outcome {
    Outcome::Unknown(Failure::technical(category, SideEffect::Unknown))
}
