//! The store's time: the server's, read where a decision is made.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::ports::Clock;

/// Whose time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Time {
    /// The database server's: processes need not agree on the time of day.
    #[default]
    Server,
    /// The process' own clock, for tests that move it.
    Clock,
}

/// What is known of the store's time here.
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    time: Time,
    /// The last time that was heard or given, and what the clocks that never go back showed then.
    last: Mutex<(Timestamp, Duration)>,
}

impl StoreClock {
    pub(crate) fn new(clock: Arc<dyn Clock>, time: Time, now: Timestamp) -> Self {
        let last = Mutex::new((now, clock.boot()));
        Self { clock, time, last }
    }

    /// The time that a statement is given; nothing where it reads the server's.
    pub(crate) fn given(&self) -> Option<i64> {
        match self.time {
            Time::Server => None,
            Time::Clock => Some(self.now().as_micros()),
        }
    }

    /// Remembers the time that the server said.
    pub(crate) fn heard(&self, now: Timestamp) {
        if self.time == Time::Server {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (now, self.clock.boot());
        }
    }

    /// The time by what was heard last; for what nobody's lease depends on.
    pub(crate) fn now(&self) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let boot = self.clock.boot();
        let gone_on = last.0.plus(boot.saturating_sub(last.1));
        match self.time {
            Time::Server => gone_on,
            Time::Clock => {
                *last = (self.clock.now().max(gone_on), boot);
                last.0
            }
        }
    }

    /// Waits by the injected clock.
    pub(crate) async fn sleep(&self, wait: Duration) {
        self.clock.sleep(wait).await;
    }

    /// Time for measuring waits.
    pub(crate) fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}
