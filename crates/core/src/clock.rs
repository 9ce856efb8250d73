//! Which time may delete: one that has been confirmed.
//!
//! A time of day that jumps ahead would make every operation old at once, and what is deleted is performed again. So a
//! jump is believed only after a while: when the time went on from there for [`CONFIRM_FOR`] by a clock that never goes
//! back, or when it was still that late at another start, [`CONFIRM_FOR`] later. A time that goes back is believed at
//! once: it deletes less. Assumes that the time of day is never wrong by more than [`JUMP_MAX`] for longer than
//! [`CONFIRM_FOR`].

use std::time::Duration;

use crate::error::{CLOCK_NOT_CONFIRMED, Error};
use crate::time::Timestamp;

/// How far time may run ahead of what is known without being questioned; retention may be short by as much.
pub const JUMP_MAX: Duration = Duration::from_hours(2);

/// How long a time that jumped ahead must last before it is believed.
pub const CONFIRM_FOR: Duration = Duration::from_mins(30);

/// A time that has been confirmed. Only [`ClockWatch::look`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmedTime(Timestamp);

impl ConfirmedTime {
    /// The time.
    pub fn at(self) -> Timestamp {
        self.0
    }
}

/// What a store remembers of its time, for everyone on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockHistory {
    /// The time that was confirmed last; where a ledger begins, the time then.
    pub confirmed: Timestamp,
    /// A time ahead of it that was seen and is not confirmed.
    pub candidate: Option<Timestamp>,
}

/// What one process has seen of its store's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockWatch {
    at: Timestamp,
    /// What the clock that never goes back and counts sleep showed then.
    steady: Duration,
    belief: Belief,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belief {
    Confirmed,
    Waiting,
}

/// A time that jumped ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockJump {
    /// The time that was confirmed last.
    pub confirmed: Timestamp,
    /// The time that the clock shows.
    pub shown: Timestamp,
}

impl ClockJump {
    /// Why nothing is deleted.
    pub fn error(self) -> Error {
        let Self { confirmed, shown } = self;
        let hours = shown.since(confirmed).as_secs() / 3600;
        Error::new(
            CLOCK_NOT_CONFIRMED,
            format!(
                "the clock shows {shown}, {hours} h after the last confirmed time {confirmed}; nothing was deleted"
            ),
        )
        .hint(format!(
            "if that time is right, prune again after {}, or let the server run; if not, set the clock",
            shown.plus(CONFIRM_FOR)
        ))
    }
}

/// Which time may delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// The present time.
    Confirmed(ConfirmedTime),
    /// An earlier one, which was seen on two starts; the present one waits.
    Earlier(ConfirmedTime, ClockJump),
    /// None: the time jumped ahead, and is not confirmed.
    Waiting(ClockJump),
}

/// A look at the clock: what follows from it, and what store and process remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLook {
    /// Which time may delete.
    pub confirmation: Confirmation,
    /// For the store.
    pub history: ClockHistory,
    /// For the process.
    pub watch: ClockWatch,
}

impl ClockWatch {
    /// What a process sees when it opens its store. `steady` never goes back and counts sleep.
    pub fn begin(history: ClockHistory, now: Timestamp, steady: Duration) -> Self {
        let belief = if now <= history.confirmed.plus(JUMP_MAX) { Belief::Confirmed } else { Belief::Waiting };
        Self { at: now, steady, belief }
    }

    /// Looks at the time.
    #[must_use]
    pub fn look(self, history: ClockHistory, now: Timestamp, steady: Duration) -> ClockLook {
        let elapsed = steady.saturating_sub(self.steady);
        let expected = self.at.plus(elapsed);
        let went_on = now <= expected.plus(JUMP_MAX);
        let lasted = went_on && expected <= now.plus(JUMP_MAX);
        let seen_before = history.candidate.filter(|seen| seen.plus(CONFIRM_FOR) <= now);
        if now <= history.confirmed.plus(JUMP_MAX) {
            return confirmed(now, steady);
        }
        match self.belief {
            Belief::Confirmed if went_on => confirmed(now, steady),
            Belief::Waiting if lasted && elapsed >= CONFIRM_FOR => confirmed(now, steady),
            Belief::Waiting if lasted => match seen_before {
                Some(seen) if now <= seen.plus(JUMP_MAX) => confirmed(now, steady),
                Some(seen) => {
                    let history = ClockHistory { confirmed: seen, candidate: Some(now) };
                    let jump = ClockJump { confirmed: seen, shown: now };
                    ClockLook { confirmation: Confirmation::Earlier(ConfirmedTime(seen), jump), history, watch: self }
                }
                None => {
                    let candidate = history.candidate.map_or(now, |seen| seen.min(now));
                    waiting(history, now, candidate, self)
                }
            },
            // It jumped while this process looked on.
            Belief::Confirmed | Belief::Waiting => {
                waiting(history, now, now, Self { at: now, steady, belief: Belief::Waiting })
            }
        }
    }
}

fn confirmed(now: Timestamp, steady: Duration) -> ClockLook {
    ClockLook {
        confirmation: Confirmation::Confirmed(ConfirmedTime(now)),
        history: ClockHistory { confirmed: now, candidate: None },
        watch: ClockWatch { at: now, steady, belief: Belief::Confirmed },
    }
}

fn waiting(history: ClockHistory, now: Timestamp, candidate: Timestamp, watch: ClockWatch) -> ClockLook {
    let jump = ClockJump { confirmed: history.confirmed, shown: now };
    let history = ClockHistory { candidate: Some(candidate), ..history };
    ClockLook { confirmation: Confirmation::Waiting(jump), history, watch }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const DAY: Duration = Duration::from_hours(24);

    /// A store, and processes that look at its time.
    struct ClockFixture {
        history: ClockHistory,
        watch: ClockWatch,
        now: Timestamp,
        steady: Duration,
    }

    fn fixture() -> ClockFixture {
        let now = Timestamp::from_micros(1_794_700_800_000_000);
        let history = ClockHistory { confirmed: now, candidate: None };
        ClockFixture { history, watch: ClockWatch::begin(history, now, HOUR), now, steady: HOUR }
    }

    impl ClockFixture {
        fn wait(&mut self, by: Duration) {
            self.now = self.now.plus(by);
            self.steady += by;
        }

        /// The process ends, and another one starts this much later by the time of day.
        fn restart(&mut self, later: Duration) {
            self.now = self.now.plus(later);
            self.steady = HOUR;
            self.watch = ClockWatch::begin(self.history, self.now, self.steady);
        }

        /// How far before the shown time deleting ends; nothing where it waits.
        fn look(&mut self) -> Option<Duration> {
            let look = self.watch.look(self.history, self.now, self.steady);
            (self.history, self.watch) = (look.history, look.watch);
            match look.confirmation {
                Confirmation::Confirmed(by) | Confirmation::Earlier(by, _) => Some(self.now.since(by.at())),
                Confirmation::Waiting(jump) => {
                    assert_eq!(jump.shown, self.now);
                    None
                }
            }
        }
    }

    #[test]
    fn time_that_goes_on_is_confirmed_however_seldom_it_is_looked_at() {
        let mut fixture = fixture();
        for step in [HOUR, DAY, 1000 * DAY, Duration::ZERO] {
            fixture.wait(step);
            assert_eq!(fixture.look(), Some(Duration::ZERO), "{step:?}");
        }
    }

    #[test]
    fn a_jump_of_seconds_confirms_nothing_and_leaves_nothing_behind() {
        let mut fixture = fixture();
        fixture.now = fixture.now.plus(60 * DAY);
        for _ in 0..3 {
            assert_eq!(fixture.look(), None);
            fixture.wait(Duration::from_secs(1));
        }
        fixture.now = fixture.now.minus(60 * DAY);
        assert_eq!(fixture.look(), Some(Duration::ZERO));
        assert_eq!(fixture.history, ClockHistory { confirmed: fixture.now, candidate: None });
    }

    #[test]
    fn a_jump_that_a_process_starts_in_confirms_nothing_either() {
        let mut fixture = fixture();
        for _ in 0..3 {
            fixture.restart(if fixture.history.candidate.is_none() { 60 * DAY } else { Duration::from_secs(1) });
            assert_eq!(fixture.look(), None);
        }
        fixture.now = fixture.now.minus(60 * DAY);
        fixture.restart(Duration::ZERO);
        assert_eq!(fixture.look(), Some(Duration::ZERO));
    }

    #[test]
    fn a_time_that_lasts_is_believed_by_the_clock_that_never_goes_back() {
        let mut fixture = fixture();
        fixture.now = fixture.now.plus(60 * DAY);
        assert_eq!(fixture.look(), None);
        fixture.wait(CONFIRM_FOR.saturating_sub(Duration::from_secs(1)));
        assert_eq!(fixture.look(), None);
        fixture.wait(Duration::from_secs(1));
        assert_eq!(fixture.look(), Some(Duration::ZERO));
    }

    #[test]
    fn a_second_jump_begins_the_wait_again() {
        let mut fixture = fixture();
        fixture.now = fixture.now.plus(60 * DAY);
        assert_eq!(fixture.look(), None);
        fixture.wait(CONFIRM_FOR);
        fixture.now = fixture.now.plus(60 * DAY);
        assert_eq!(fixture.look(), None);
        fixture.wait(CONFIRM_FOR);
        assert_eq!(fixture.look(), Some(Duration::ZERO));
    }

    #[test]
    fn a_command_that_runs_once_a_day_deletes_by_the_time_of_its_last_run() {
        let mut fixture = fixture();
        fixture.restart(DAY);
        assert_eq!(fixture.look(), None, "the first run only sees the time");
        for _ in 0..3 {
            fixture.restart(DAY);
            assert_eq!(fixture.look(), Some(DAY));
            assert_eq!(fixture.look(), None, "the same run confirms nothing further");
        }
    }

    #[test]
    fn a_short_downtime_is_not_questioned() {
        let mut fixture = fixture();
        fixture.restart(JUMP_MAX);
        assert_eq!(fixture.look(), Some(Duration::ZERO));
        fixture.restart(JUMP_MAX + Duration::from_secs(1));
        assert_eq!(fixture.look(), None);
    }

    #[test]
    fn a_time_that_goes_back_is_believed_at_once_and_its_return_is_not() {
        let mut fixture = fixture();
        fixture.now = fixture.now.minus(60 * DAY);
        assert_eq!(fixture.look(), Some(Duration::ZERO));
        fixture.now = fixture.now.plus(60 * DAY);
        assert_eq!(fixture.look(), None);
        fixture.wait(CONFIRM_FOR);
        assert_eq!(fixture.look(), Some(Duration::ZERO));
    }
}
