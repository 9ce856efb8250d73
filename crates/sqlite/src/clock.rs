//! The store's time: never behind what anyone on this file has seen.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onefold_core::clock::{CONFIRM_FOR, ClockHistory, ClockLook, ClockWatch, JUMP_MAX};
use onefold_core::port::Clock;
use onefold_core::{Result, Timestamp};
use rusqlite::Connection;

use crate::error::translate;
use crate::sql;

/// How far the stored highest time may lag; far below every kind's `clock_slack`.
pub(crate) const LAG: Duration = Duration::from_secs(1);

/// Time that goes on when the system's clock is set back, and never goes back itself. It follows a jump ahead only
/// when that lasts.
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    last: Mutex<LastReading>,
    /// What this process has seen of the system's time, for what is deleted by it.
    watch: Mutex<ClockWatch>,
    stored: AtomicI64,
    /// How long the last commit took, in microseconds.
    last_commit: AtomicU64,
}

/// The last time that was given.
struct LastReading {
    at: Timestamp,
    /// What the clock that never goes back and counts sleep showed then.
    steady: Duration,
    /// What the system's clock showed when it jumped ahead, and the steady clock then.
    jumped: Option<(Timestamp, Duration)>,
}

impl LastReading {
    /// The time, given what both clocks show.
    fn next(&mut self, shown: Timestamp, steady: Duration) -> Timestamp {
        let gone_on = self.at.plus(steady.saturating_sub(self.steady));
        let ahead = |of: Timestamp| shown > of.plus(JUMP_MAX);
        let believed = if ahead(gone_on) {
            let since = self.jumped.filter(|(at, then)| !ahead(at.plus(steady.saturating_sub(*then))));
            let (_, then) = *self.jumped.insert(since.unwrap_or((shown, steady)));
            steady.saturating_sub(then) >= CONFIRM_FOR
        } else {
            self.jumped = None;
            true
        };
        self.at = if believed { shown.max(gone_on) } else { gone_on };
        self.steady = steady;
        self.at
    }
}

/// A commit that takes no longer than this may be made on a caller's own thread.
const QUICK: Duration = Duration::from_millis(1);

impl StoreClock {
    /// Starts from the highest time that the file has seen.
    pub(crate) fn new(clock: Arc<dyn Clock>, highest: Timestamp, history: ClockHistory) -> Self {
        let (now, steady) = (clock.now(), clock.boot());
        Self {
            clock,
            last: Mutex::new(LastReading { at: highest.max(now), steady, jumped: None }),
            watch: Mutex::new(ClockWatch::begin(history, now, steady)),
            stored: AtomicI64::new(highest.as_micros()),
            last_commit: AtomicU64::new(u64::MAX),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.next(self.clock.now(), self.clock.boot())
    }

    /// Looks at the system's time, for what is deleted by it.
    pub(crate) fn look(&self, history: ClockHistory) -> ClockLook {
        let watch = *self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.look(history, self.clock.now(), self.clock.boot())
    }

    /// Called after the commit that stored what a look found.
    pub(crate) fn looked(&self, look: &ClockLook) {
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = look.watch;
    }

    /// Time goes on from what another process on this file has seen.
    pub(crate) fn raise(&self, seen: Timestamp) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if seen > last.at {
            *last = LastReading { at: seen, steady: self.clock.boot(), jumped: None };
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

/// What the file remembers of its time.
pub(crate) fn clock_history(connection: &Connection) -> Result<ClockHistory> {
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<ClockHistory> {
        let candidate: Option<i64> = row.get("candidate")?;
        Ok(ClockHistory {
            confirmed: Timestamp::from_micros(row.get("confirmed")?),
            candidate: candidate.map(Timestamp::from_micros),
        })
    };
    connection.query_row(&sql::CLOCK_HISTORY, [], read).map_err(translate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onefold_core::port::BoxFuture;

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

    fn clock(fake: &Arc<Fake>, highest: i64) -> StoreClock {
        let now = fake.now();
        StoreClock::new(fake.clone(), Timestamp::from_micros(highest), ClockHistory { confirmed: now, candidate: None })
    }

    #[test]
    fn time_goes_on_when_the_system_clock_is_set_back() {
        let fake = Arc::new(Fake(Mutex::new((1_000, 0))));
        let clock = clock(&fake, 5_000);
        assert_eq!(clock.now().as_micros(), 5_000);
        *fake.0.lock().unwrap() = (10_000, 100);
        assert_eq!(clock.now().as_micros(), 10_000);
        *fake.0.lock().unwrap() = (2_000, 150);
        assert_eq!(clock.now().as_micros(), 10_050);
    }

    #[test]
    fn a_jump_ahead_is_followed_only_when_it_lasts() {
        const DAY: i64 = 86_400_000_000;
        let fake = Arc::new(Fake(Mutex::new((0, 0))));
        let clock = clock(&fake, 0);
        *fake.0.lock().unwrap() = (60 * DAY, 1_000_000);
        assert_eq!(clock.now().as_micros(), 1_000_000, "for seconds");
        *fake.0.lock().unwrap() = (2_000_000, 2_000_000);
        assert_eq!(clock.now().as_micros(), 2_000_000, "and it is over");
        *fake.0.lock().unwrap() = (60 * DAY, 3_000_000);
        assert_eq!(clock.now().as_micros(), 3_000_000);
        let lasted = i64::try_from(CONFIRM_FOR.as_micros()).unwrap();
        *fake.0.lock().unwrap() = (60 * DAY + lasted, 3_000_000 + lasted.unsigned_abs());
        assert_eq!(clock.now().as_micros(), 60 * DAY + lasted);
    }
}
