//! What is called outside: a breaker, a bulkhead and a rate, declared once and shared by all who call it.
//!
//! A refusal comes before anything is sent, so a refused call has no effect and leaves nothing unknown.
//! An outage costs in unknown outcomes the breaker's threshold, the calls in flight when it opened and
//! one call per probe, not one per request.

mod circuit;
mod limit_state;
#[cfg(test)]
mod model;
pub(crate) mod outages;
mod rate;
mod registry;
mod remote_permits;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onefold_config::{DependencyDeclaration, StatusMeaning};
use onefold_core::Error;
use onefold_core::call::{CallHealth, Promise, Promises};
use onefold_core::error::{BREAKER_OPEN, BULKHEAD_FULL, DOWNSTREAM_REJECTED, RATE_EXCEEDED};
use onefold_core::incident::{CallHistory, UNAVAILABLE_FOR};
use onefold_core::port::Clock;
use onefold_core::retry::Category;

use crate::meter;
use limit_state::{CallEnd, LimitState, PermitGuard};

pub(crate) use circuit::Position;
pub(crate) use registry::Dependencies;
pub(crate) use remote_permits::RemotePermits;

/// Something outside that is called, with its limits. Its clones share them.
#[derive(Clone)]
pub struct Dependency {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    limits: DependencyDeclaration,
    clock: Arc<dyn Clock>,
    state: Mutex<LimitState>,
    /// When its open incident was raised, by the clock that counts a machine's sleep.
    reported_at: Mutex<Option<Duration>>,
}

impl Dependency {
    /// A dependency of this name, not called yet. The name is a label of its metrics: few names, no ids.
    pub fn new(name: &str, limits: DependencyDeclaration, clock: Arc<dyn Clock>) -> Self {
        let state = LimitState::new(&limits);
        if let Some(position) = state.position() {
            meter::breaker(name, position);
        }
        let (state, reported_at) = (Mutex::new(state), Mutex::default());
        Self { shared: Arc::new(Shared { name: name.to_owned(), limits, clock, state, reported_at }) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// What statuses of its answers mean, where that was declared.
    pub fn answers(&self) -> &BTreeMap<u16, StatusMeaning> {
        &self.shared.limits.answers
    }

    /// What it promises beyond what every caller must assume, for [`CallFailure::from_status_with`](crate::CallFailure).
    pub fn promises(&self) -> Promises {
        let promised = |promises: Promises, (status, meaning): (&u16, &StatusMeaning)| match meaning {
            StatusMeaning::NotApplied => promises.with(*status, Promise::NotApplied(Category::DownstreamUnavailable)),
            StatusMeaning::Unknown => promises.with(*status, Promise::Unknown),
            StatusMeaning::Final => promises.with(*status, Promise::Business(DOWNSTREAM_REJECTED.name())),
            // A success is not judged as a failure.
            StatusMeaning::Applied => promises,
        };
        self.answers().iter().fold(Promises::default(), promised)
    }

    /// What its calls are held to.
    pub(crate) fn limits(&self) -> &DependencyDeclaration {
        &self.shared.limits
    }

    /// What calls have shown since its incident was raised, and how long failures last until there is one. The earliest
    /// time that was told for an incident counts: a clock that is set back must not hide a success.
    pub(crate) fn look(&self, reported_at: Option<Duration>) -> (CallHistory, Duration) {
        let mut earliest = self.shared.reported_at.lock().unwrap_or_else(PoisonError::into_inner);
        *earliest = reported_at.map(|at| earliest.map_or(at, |before| before.min(at)));
        let history = self.shared.state().history(*earliest);
        (history, self.shared.limits.unavailable_for.unwrap_or(UNAVAILABLE_FOR))
    }

    /// Lets a call begin, or says why it may not. A refused call has used up nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use onefold_runtime::{Dependency, DependencyDeclaration, LimitReached, SystemClock};
    ///
    /// let limits = DependencyDeclaration { calls_max: Some(1), ..DependencyDeclaration::default() };
    /// let provider = Dependency::new("provider", limits, Arc::new(SystemClock));
    /// let permit = provider.enter().unwrap();
    /// assert_eq!(provider.enter().unwrap_err().because, LimitReached::BulkheadFull);
    /// permit.succeeded();
    /// assert!(provider.enter().is_ok());
    /// ```
    pub fn enter(&self) -> Result<Permit, Refused> {
        match self.shared.change(limit_state::LimitState::enter) {
            Ok(guard) => {
                meter::dependency_call_began(&self.shared.name);
                Ok(Permit { guard: Some((Arc::clone(&self.shared), guard)) })
            }
            Err(refused) => {
                meter::dependency_refused(&self.shared.name, refused.because.as_str());
                Err(refused)
            }
        }
    }
}

impl fmt::Debug for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dependency").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Shared {
    /// Changes the state, and shows its breaker's state if it changed. Shown while nobody else can move it,
    /// so that the last one shown is the last one there was.
    fn change<T>(&self, change: impl FnOnce(&mut LimitState, Duration) -> T) -> T {
        let mut state = self.state();
        let before = state.position();
        // A machine that slept has waited, too.
        let changed = change(&mut state, self.clock.boot());
        let after = state.position();
        if let Some(position) = after.filter(|_| after != before) {
            meter::breaker(&self.name, position);
        }
        changed
    }

    fn state(&self) -> MutexGuard<'_, LimitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, guard: PermitGuard, end: CallEnd) {
        self.change(|state, now| state.leave(guard, end, now));
        meter::dependency_call_ended(&self.name);
    }
}

/// Permission for one call. Dropped without a word it counts neither as success nor as failure.
#[must_use = "a permit that is dropped frees its slot at once"]
pub struct Permit {
    guard: Option<(Arc<Shared>, PermitGuard)>,
}

impl Permit {
    /// For a call to what has no limits.
    pub(crate) const fn unlimited() -> Self {
        Self { guard: None }
    }

    pub(crate) const fn is_unlimited(&self) -> bool {
        self.guard.is_none()
    }

    /// The call ended.
    pub fn ended(self, health: CallHealth) {
        match health {
            CallHealth::Answered => self.succeeded(),
            CallHealth::Failed => self.failed(),
            CallHealth::NotInvolved => drop(self),
        }
    }

    /// There was no call after all: nothing is used up, neither the bulkhead nor the rate.
    pub fn unused(mut self) {
        self.end(CallEnd::Unused);
    }

    /// The dependency answered.
    pub fn succeeded(mut self) {
        self.end(CallEnd::Succeeded);
    }

    /// The dependency failed: no connection, no answer, or an answer that says it is not well.
    pub fn failed(mut self) {
        self.end(CallEnd::Failed);
    }

    fn end(&mut self, end: CallEnd) {
        if let Some((shared, guard)) = self.guard.take() {
            shared.leave(guard, end);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end(CallEnd::Neither);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dependency = self.guard.as_ref().map(|(shared, _)| &shared.name);
        f.debug_struct("Permit").field("dependency", &dependency).finish_non_exhaustive()
    }
}

/// A call that may not begin now. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Which limit refused it.
    pub because: LimitReached,
    /// When asking again makes sense.
    pub retry_after: Duration,
}

/// Which limit refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitReached {
    /// Calls failed so often that there are none for a while.
    BreakerOpen,
    /// As many calls are in flight as are allowed.
    BulkheadFull,
    /// As many calls began in this time as are allowed.
    RateExceeded,
}

impl LimitReached {
    /// The name of it in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BreakerOpen => "breaker_open",
            Self::BulkheadFull => "bulkhead_full",
            Self::RateExceeded => "rate_exceeded",
        }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let (code, what) = match refused.because {
            LimitReached::BreakerOpen => (BREAKER_OPEN, "breaker open: recent calls to the dependency failed"),
            LimitReached::BulkheadFull => (BULKHEAD_FULL, "bulkhead full: too many calls to the dependency in flight"),
            LimitReached::RateExceeded => (RATE_EXCEEDED, "rate limit of the dependency exceeded"),
        };
        Self::new(code, what)
    }
}
