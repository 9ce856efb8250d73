//! What a failed call to the outside means.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::call::Meaning as Judged;
use onefold_core::error::{Code, CodeName, DOWNSTREAM_REJECTED};
use onefold_core::incident::Needs;
use onefold_core::ledger::{Failure, Outcome, SideEffect};
use onefold_core::retry::Category;

/// Why a closure has no result, and what is known of the effect.
///
/// A timeout is not a failure: say [`CallFailure::unknown`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    pub(crate) meaning: Meaning,
    failure: Failure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// No byte left the process.
    NotSent,
    /// Sent, and surely not applied.
    NotApplied,
    /// The provider said no, for good.
    Final,
    /// Nobody knows.
    Unknown,
}

impl CallFailure {
    fn new(meaning: Meaning, failure: Failure) -> Self {
        Self { meaning, failure }
    }

    /// No byte was sent: refused connection, name or TLS failure, open breaker. The claim is released.
    pub fn not_sent(category: Category) -> Self {
        Self::new(Meaning::NotSent, Failure::technical(category, SideEffect::NotApplied))
    }

    /// It was sent and surely did not take hold: 401, 429, or what the provider promises.
    pub fn not_applied(category: Category) -> Self {
        Self::new(Meaning::NotApplied, Failure::technical(category, SideEffect::NotApplied))
    }

    /// The provider said no, for good: a business answer, recorded and replayed.
    pub fn rejected(code: Code) -> Self {
        Self::new(Meaning::Final, Failure::business(code))
    }

    /// The request itself is broken and will never work: an incident for whoever owns the kind.
    pub fn broken(category: Category) -> Self {
        Self::new(Meaning::Final, Failure::technical(category, SideEffect::NotApplied))
    }

    /// It may or may not have taken hold: timeout or reset after sending, 5xx, an answer that cannot be read.
    pub fn unknown(category: Category) -> Self {
        Self::new(Meaning::Unknown, Failure::technical(category, SideEffect::Unknown))
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
            Meaning::NotSent => None,
            Meaning::NotApplied => Some(Outcome::FailedRetryable(self.failure)),
            Meaning::Final => Some(Outcome::FailedFinal(self.failure)),
            Meaning::Unknown => Some(Outcome::Unknown(self.failure)),
        }
    }
}

impl std::fmt::Display for CallFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, effect {}", self.failure.code, self.failure.side_effect)
    }
}

impl std::error::Error for CallFailure {}
