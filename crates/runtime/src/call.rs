//! What a failed call to the outside means.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::call::{CallHealth, CallMeaning as Judged, CallOutcome, Promises, Sent, judge, of_io};
use onefold_core::error::{Code, CodeName, DOWNSTREAM_REJECTED};
use onefold_core::incident::Needs;
use onefold_core::ledger::{Failure, Outcome, SideEffect};
use onefold_core::retry::Category;

/// Why a closure has no result, and what is known of the effect.
///
/// A timeout is not a failure: say [`CallFailure::unknown`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    pub(crate) meaning: FailureMeaning,
    /// Boxed, so that a result with it stays small.
    failure: Box<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureMeaning {
    /// No byte left the process.
    NotSent,
    /// Sent, and surely not applied.
    NotApplied,
    /// The provider said no, for good.
    Final,
    /// It is unknown.
    Unknown,
}

impl CallFailure {
    fn new(meaning: FailureMeaning, failure: Failure) -> Self {
        Self { meaning, failure: Box::new(failure) }
    }

    /// No byte was sent: refused connection, name or TLS failure, open breaker. The claim is released.
    pub fn not_sent(category: Category) -> Self {
        Self::new(FailureMeaning::NotSent, Failure::technical(category, SideEffect::NotApplied))
    }

    /// It was sent and surely did not take hold: 401, 429, or what the provider promises.
    pub fn not_applied(category: Category) -> Self {
        Self::new(FailureMeaning::NotApplied, Failure::technical(category, SideEffect::NotApplied))
    }

    /// The provider said no, for good: a business answer, recorded and replayed.
    pub fn rejected(code: Code) -> Self {
        Self::new(FailureMeaning::Final, Failure::business(code))
    }

    /// The request itself is broken and will never work: an incident for the owner of the kind.
    pub fn broken(category: Category) -> Self {
        Self::new(FailureMeaning::Final, Failure::technical(category, SideEffect::NotApplied))
    }

    /// It may or may not have taken hold: timeout or reset after sending, 5xx, an answer that cannot be read.
    pub fn unknown(category: Category) -> Self {
        Self::new(FailureMeaning::Unknown, Failure::technical(category, SideEffect::Unknown))
    }

    /// What an HTTP status other than success means, from a dependency that promises nothing.
    pub fn from_status(status: u16) -> Self {
        Self::from_status_with(status, &Promises::default())
    }

    /// The same from a dependency that promises more, or less, for some statuses.
    pub fn from_status_with(status: u16, promises: &Promises) -> Self {
        Self::judged(&judge(CallOutcome::Status(status), Sent::Something, promises)).detail(format!("HTTP {status}"))
    }

    /// What a timeout means: not sent where nothing had left the process, and unknown otherwise.
    pub fn from_timeout(sent: Sent) -> Self {
        Self::judged(&judge(CallOutcome::Timeout, sent, &Promises::default()))
    }

    /// What an error of the system means; only a refused connection proves that nothing was sent.
    pub fn from_io(error: &std::io::Error) -> Self {
        let (happened, sent) = of_io(error.kind());
        Self::judged(&judge(happened, sent, &Promises::default())).detail(error.to_string())
    }

    /// What a failed call means by [`onefold_core::call::judge`].
    pub fn judged(meaning: &Judged) -> Self {
        match meaning {
            Judged::NotSent(category) => Self::not_sent(*category),
            // This call did nothing: its grant goes back, and what earlier ones did stays unknown.
            Judged::StillRunning => Self::not_sent(Category::DownstreamUnavailable),
            Judged::NotApplied(category) => Self::not_applied(*category),
            Judged::Unknown(category) => Self::unknown(*category),
            Judged::Broken(category) => Self::broken(*category),
            Judged::Final => Self::rejected(DOWNSTREAM_REJECTED),
            Judged::Business(code) => {
                let mut rejected = Self::rejected(DOWNSTREAM_REJECTED);
                rejected.failure.code = code.clone();
                rejected
            }
        }
    }

    /// The same, asking for a wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.failure.retry_after = Some(wait);
        self
    }

    /// The same, with what happened in a sentence; redacted before it is kept.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Arc<str>>) -> Self {
        self.failure.detail = Some(detail.into());
        self
    }

    /// The same, of this dependency.
    #[must_use]
    pub fn dependency(mut self, name: impl Into<Arc<str>>) -> Self {
        self.failure.dependency = Some(name.into());
        self
    }

    /// The same, saying what must happen besides a decision; for the incident of [`CallFailure::broken`].
    #[must_use]
    pub fn needs(mut self, needs: Needs) -> Self {
        self.failure.needs = Some(needs);
        self
    }

    /// The same under the user's own code.
    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.failure.code = code.name();
        self
    }

    /// What it says about the dependency that was called.
    pub(crate) fn health(&self) -> CallHealth {
        self.failure.category.map_or(CallHealth::Answered, CallHealth::of_category)
    }

    /// Its code.
    pub fn code_name(&self) -> &CodeName {
        &self.failure.code
    }

    pub(crate) fn retry_hint(&self) -> Option<Duration> {
        self.failure.retry_after
    }

    /// What is recorded of it; nothing where nothing was sent.
    pub(crate) fn outcome(self) -> Option<Outcome> {
        match self.meaning {
            FailureMeaning::NotSent => None,
            FailureMeaning::NotApplied => Some(Outcome::FailedRetryable(*self.failure)),
            FailureMeaning::Final => Some(Outcome::FailedFinal(*self.failure)),
            FailureMeaning::Unknown => Some(Outcome::Unknown(*self.failure)),
        }
    }
}

impl std::fmt::Display for CallFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, effect {}", self.failure.code, self.failure.side_effect)
    }
}

impl std::error::Error for CallFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_error_becomes_a_failure_without_a_table_of_ones_own() {
        assert_eq!(CallFailure::from_status(429).meaning, FailureMeaning::NotApplied);
        assert_eq!(CallFailure::from_status(503).meaning, FailureMeaning::Unknown);
        assert_eq!(CallFailure::from_status(422).meaning, FailureMeaning::Final);
        assert_eq!(CallFailure::from_timeout(Sent::Something).meaning, FailureMeaning::Unknown);
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(CallFailure::from_io(&refused).meaning, FailureMeaning::NotSent);
    }
}
