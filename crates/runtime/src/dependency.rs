//! What is called outside: a breaker, a bulkhead and a rate, declared once and shared by all who call it.
//!
//! A refusal comes before anything is sent, so a refused call has no effect and leaves nothing unknown.
//! An outage costs in unknown outcomes the breaker's threshold, the calls under way when it opened and
//! one call per probe, not one per request.

mod circuit;
mod gate;
#[cfg(test)]
mod model;
mod rate;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onefold_core::Error;
use onefold_core::error::{BREAKER_OPEN, BULKHEAD_FULL, RATE_EXCEEDED};
use onefold_core::ports::Clock;

use crate::meter;
use gate::{End, Gate, Place};

pub(crate) use circuit::Position;
pub use rate::Rate;

/// What calls to a dependency are held to. The default holds them to nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// When calls stop for a while.
    pub breaker: Option<Breaker>,
    /// How many calls may be under way at once.
    pub at_once_max: Option<usize>,
    /// How many calls may begin in a time.
    pub rate: Option<Rate>,
}

/// When calls stop for a while: after so many failures in a row, for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// How many failures in a row open it; zero counts as one.
    pub failures: u32,
    /// How long nothing is called before one call probes.
    pub open_for: Duration,
}

/// Something outside that is called, with its limits. Its clones share them.
#[derive(Clone)]
pub struct Dependency {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    clock: Arc<dyn Clock>,
    gate: Mutex<Gate>,
}

impl Dependency {
    /// A dependency of this name, not called yet. The name is a label of its metrics: few names, no ids.
    pub fn new(name: &str, limits: Limits, clock: Arc<dyn Clock>) -> Self {
        let gate = Gate::new(limits);
        if let Some(position) = gate.position() {
            meter::breaker(name, position);
        }
        Self { shared: Arc::new(Shared { name: name.to_owned(), clock, gate: Mutex::new(gate) }) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Lets a call begin, or says why it may not. Whoever is refused has used up nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use onefold_runtime::{Because, Dependency, Limits, SystemClock};
    ///
    /// let limits = Limits { at_once_max: Some(1), ..Limits::default() };
    /// let provider = Dependency::new("provider", limits, Arc::new(SystemClock));
    /// let pass = provider.enter().unwrap();
    /// assert_eq!(provider.enter().unwrap_err().because, Because::BulkheadFull);
    /// pass.succeeded();
    /// assert!(provider.enter().is_ok());
    /// ```
    pub fn enter(&self) -> Result<Pass, Refused> {
        match self.shared.change(gate::Gate::enter) {
            Ok(place) => {
                meter::dependency_call_began(&self.shared.name);
                Ok(Pass { shared: Arc::clone(&self.shared), place: Some(place) })
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
    /// Changes the gate, and shows where its breaker stands if it moved. Shown while nobody else can move it,
    /// so that the last one shown is the last one there was.
    fn change<T>(&self, change: impl FnOnce(&mut Gate, Duration) -> T) -> T {
        let mut gate = self.gate();
        let before = gate.position();
        // A machine that slept has waited, too.
        let changed = change(&mut gate, self.clock.boot());
        let after = gate.position();
        if let Some(position) = after.filter(|_| after != before) {
            meter::breaker(&self.name, position);
        }
        changed
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, place: Place, end: End) {
        self.change(|gate, now| gate.leave(place, end, now));
        meter::dependency_call_ended(&self.name);
    }
}

/// Permission for one call. Dropped without a word it counts neither as success nor as failure.
#[must_use = "a pass that is dropped gives its place back at once"]
pub struct Pass {
    shared: Arc<Shared>,
    place: Option<Place>,
}

impl Pass {
    /// The dependency answered.
    pub fn succeeded(mut self) {
        self.end(End::Succeeded);
    }

    /// The dependency failed: no connection, no answer, or an answer that says it is not well.
    pub fn failed(mut self) {
        self.end(End::Failed);
    }

    fn end(&mut self, end: End) {
        if let Some(place) = self.place.take() {
            self.shared.leave(place, end);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.end(End::Neither);
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("dependency", &self.shared.name).finish_non_exhaustive()
    }
}

/// A call that may not begin now. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Which limit refused it.
    pub because: Because,
    /// When asking again makes sense.
    pub retry_after: Duration,
}

/// Which limit refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Because {
    /// Calls failed so often that there are none for a while.
    BreakerOpen,
    /// As many calls are under way as may be.
    BulkheadFull,
    /// As many calls began in this time as may.
    RateExceeded,
}

impl Because {
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
            Because::BreakerOpen => (BREAKER_OPEN, "calls to the dependency failed, so it is left alone for a while"),
            Because::BulkheadFull => (BULKHEAD_FULL, "as many calls to the dependency are under way as may be"),
            Because::RateExceeded => (RATE_EXCEEDED, "as many calls to the dependency began as may in this time"),
        };
        Self::new(code, what)
    }
}
