//! Time that does not move until a test moves it.

use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::port::{BoxFuture, Clock};
use tokio::sync::watch;

/// A clock that only its test moves. Sleepers wake when they are moved past.
#[derive(Debug)]
pub struct ManualClock {
    reading: watch::Sender<Reading>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    now: Timestamp,
    monotonic: Duration,
    boot: Duration,
}

impl ManualClock {
    /// A clock that shows this time of day.
    pub fn at(now: Timestamp) -> Self {
        let reading = Reading { now, monotonic: Duration::from_secs(1), boot: Duration::from_secs(1) };
        Self { reading: watch::Sender::new(reading) }
    }

    /// All three clocks go on by this much.
    pub fn advance(&self, by: Duration) {
        self.reading.send_modify(|reading| {
            reading.now = reading.now.plus(by);
            reading.monotonic += by;
            reading.boot += by;
        });
    }

    /// Somebody sets the time of day; the other two clocks do not notice.
    pub fn set(&self, now: Timestamp) {
        self.reading.send_modify(|reading| reading.now = now);
    }

    /// The machine sleeps: its monotonic clock stands still.
    pub fn suspend(&self, by: Duration) {
        self.reading.send_modify(|reading| {
            reading.now = reading.now.plus(by);
            reading.boot += by;
        });
    }
}

impl Default for ManualClock {
    /// Some day in 2026.
    fn default() -> Self {
        Self::at(Timestamp::from_micros(1_794_700_800_000_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.reading.borrow().now
    }

    fn monotonic(&self) -> Duration {
        self.reading.borrow().monotonic
    }

    fn boot(&self) -> Duration {
        self.reading.borrow().boot
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        let wake = self.monotonic().saturating_add(wait);
        let mut reading = self.reading.subscribe();
        Box::pin(async move {
            // A clock that is gone lets its sleepers go.
            let _ = reading.wait_for(|reading| reading.monotonic >= wake).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_time_is_passed_and_not_before() {
        let clock = Arc::new(ManualClock::default());
        let sleeper = tokio::spawn(clock.sleep(Duration::from_secs(10)));
        clock.advance(Duration::from_secs(9));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance(Duration::from_secs(1));
        sleeper.await.unwrap();
    }

    #[test]
    fn setting_the_time_of_day_moves_no_other_clock() {
        let clock = ManualClock::default();
        let before = (clock.monotonic(), clock.boot());
        clock.set(Timestamp::from_micros(0));
        assert_eq!((clock.monotonic(), clock.boot()), before);
        clock.suspend(Duration::from_secs(5));
        assert_eq!(clock.boot().saturating_sub(clock.monotonic()), Duration::from_secs(5));
    }
}
