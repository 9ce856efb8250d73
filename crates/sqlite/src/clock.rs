//! The store's time: never behind what anyone on this file has seen.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::ports::Clock;

/// How far the stored highest time may lag; far below every kind's `clock_slack`.
pub(crate) const LAG: Duration = Duration::from_secs(1);

/// Time that goes on when the system's clock is set back, and never goes back itself.
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    last: Mutex<(Timestamp, Duration)>,
    stored: AtomicI64,
    /// How long the last commit took, in microseconds.
    last_commit: AtomicU64,
}

/// A commit that takes no longer than this may be made on a caller's own thread.
const QUICK: Duration = Duration::from_millis(1);

impl StoreClock {
    /// Starts from the highest time that the file has seen.
    pub(crate) fn new(clock: Arc<dyn Clock>, highest: Timestamp) -> Self {
        let last = Mutex::new((highest.max(clock.now()), clock.monotonic()));
        Self { clock, last, stored: AtomicI64::new(highest.as_micros()), last_commit: AtomicU64::new(u64::MAX) }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let monotonic = self.clock.monotonic();
        let elapsed = monotonic.saturating_sub(last.1);
        let now = self.clock.now().max(last.0.plus(elapsed));
        *last = (now, monotonic);
        now
    }

    /// Time goes on from what another process on this file has seen.
    pub(crate) fn raise(&self, seen: Timestamp) {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if seen > last.0 {
            *last = (seen, self.clock.monotonic());
        }
        self.stored.fetch_max(seen.as_micros(), Ordering::Relaxed);
    }

    /// The time to store, if the stored one lags too far behind.
    pub(crate) fn to_store(&self, now: Timestamp) -> Option<Timestamp> {
        (now >= Timestamp::from_micros(self.stored.load(Ordering::Relaxed)).plus(LAG)).then_some(now)
    }

    /// Called after the commit that stored it.
    pub(crate) fn stored(&self, at: Timestamp) {
        self.stored.fetch_max(at.as_micros(), Ordering::Relaxed);
    }

    /// Remembers how long a commit took that began then.
    pub(crate) fn committed(&self, began: Duration) {
        let took = self.clock.monotonic().saturating_sub(began);
        self.last_commit.store(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether commits are quick at present.
    pub(crate) fn commits_are_quick(&self) -> bool {
        Duration::from_micros(self.last_commit.load(Ordering::Relaxed)) <= QUICK
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

#[cfg(test)]
mod tests {
    use super::*;
    use onefold_core::ports::BoxFuture;

    struct Fake(Mutex<(i64, u64)>);

    impl Clock for Fake {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.lock().unwrap().0)
        }
        fn monotonic(&self) -> Duration {
            Duration::from_micros(self.0.lock().unwrap().1)
        }
        fn boot(&self) -> Duration {
            self.monotonic()
        }
        fn sleep(&self, _wait: Duration) -> BoxFuture<'static, ()> {
            Box::pin(async {})
        }
    }

    #[test]
    fn time_goes_on_when_the_system_clock_is_set_back() {
        let fake = Arc::new(Fake(Mutex::new((1_000, 0))));
        let clock = StoreClock::new(fake.clone(), Timestamp::from_micros(5_000));
        assert_eq!(clock.now().as_micros(), 5_000);
        *fake.0.lock().unwrap() = (10_000, 100);
        assert_eq!(clock.now().as_micros(), 10_000);
        *fake.0.lock().unwrap() = (2_000, 150);
        assert_eq!(clock.now().as_micros(), 10_050);
    }
}
