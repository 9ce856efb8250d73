//! Waits between attempts, spread so that many callers do not come back at once.

use std::sync::Arc;
use std::time::Duration;

/// A random number that the caller drew, so that the rule itself stays pure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Jitter(pub u32);

impl Jitter {
    /// A share of `span`: nothing for 0, nearly all of it for the largest draw.
    pub fn of(self, span: Duration) -> Duration {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let share = (u128::from(micros) * u128::from(self.0)) >> 32;
        Duration::from_micros(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// Waits in order; the last one repeats.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// These waits, each lengthened by up to a fifth.
    Steps(Arc<[Duration]>),
    /// Anything between two waits.
    Between(Duration, Duration),
}

impl Schedule {
    /// No wait is longer than this, even on request.
    pub const WAIT_MAX: Duration = Duration::from_hours(24);

    /// Waits of these seconds.
    pub fn seconds(steps: &[u64]) -> Self {
        Self::Steps(steps.iter().copied().map(Duration::from_secs).collect())
    }

    /// The wait after the `used`-th attempt (1 for the first); never shorter than `retry_after`.
    pub fn wait(&self, used: u32, retry_after: Option<Duration>, jitter: Jitter) -> Duration {
        let planned = match self {
            Self::Steps(steps) => {
                let index = (used.max(1) - 1) as usize;
                let step = steps.get(index).or(steps.last()).copied().unwrap_or(Duration::ZERO);
                let base = retry_after.unwrap_or(step);
                base.saturating_add(jitter.of(base / 5))
            }
            Self::Between(from, to) => from.saturating_add(jitter.of(to.saturating_sub(*from))),
        };
        planned.max(retry_after.unwrap_or(Duration::ZERO)).min(Self::WAIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALMOST_ALL: Jitter = Jitter(u32::MAX);

    #[test]
    fn the_last_step_repeats_and_jitter_only_lengthens() {
        let schedule = Schedule::seconds(&[1, 5, 30]);
        let waits: Vec<_> = (1..=5).map(|used| schedule.wait(used, None, Jitter(0)).as_secs()).collect();
        assert_eq!(waits, [1, 5, 30, 30, 30]);
        let longest = schedule.wait(2, None, ALMOST_ALL);
        assert!(longest > Duration::from_secs(5) && longest <= Duration::from_secs(6));
    }

    #[test]
    fn retry_after_goes_first_and_is_capped() {
        let schedule = Schedule::seconds(&[60]);
        assert_eq!(schedule.wait(1, Some(Duration::from_secs(7)), Jitter(0)), Duration::from_secs(7));
        assert!(schedule.wait(1, Some(Duration::from_secs(7)), ALMOST_ALL) >= Duration::from_secs(7));
        assert_eq!(schedule.wait(1, Some(Duration::MAX), Jitter(0)), Schedule::WAIT_MAX);
    }

    #[test]
    fn a_range_is_spread_over_its_whole_width() {
        let schedule = Schedule::Between(Duration::from_millis(50), Duration::from_millis(500));
        assert_eq!(schedule.wait(1, None, Jitter(0)), Duration::from_millis(50));
        assert!(schedule.wait(1, None, ALMOST_ALL) > Duration::from_millis(499));
    }
}
