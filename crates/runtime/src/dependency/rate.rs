//! How many calls may begin in a time.

use std::collections::VecDeque;
use std::time::Duration;

use onefold_config::Rate;

/// When the last calls began: as many as may begin in the rate's time, and no more.
#[derive(Debug)]
pub(super) struct CallStarts {
    rate: Rate,
    at: VecDeque<Duration>,
}

impl CallStarts {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, at: VecDeque::new() }
    }

    /// Notes that a call begins now, or says how long until one may.
    pub(super) fn begin(&mut self, now: Duration) -> Result<(), Duration> {
        let calls = usize::try_from(self.rate.calls).unwrap_or(usize::MAX);
        if self.at.len() >= calls {
            let next = self.at.front().map_or(now, |first| *first).saturating_add(self.rate.per);
            if calls == 0 || now < next {
                return Err(next.saturating_sub(now));
            }
            self.at.pop_front();
        }
        self.at.push_back(now);
        Ok(())
    }

    /// Forgets a call that was allowed then and did not begin after all.
    pub(super) fn forget(&mut self, at: Duration) {
        if let Some(position) = self.at.iter().rposition(|begun| *begun == at) {
            self.at.remove(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn no_stretch_of_time_has_more_beginnings_than_the_rate() {
        let mut beginnings = CallStarts::new(Rate { calls: 3, per: SECOND });
        let step = Duration::from_millis(70);
        let begun: Vec<Duration> = (0..100).map(|i| step * i).filter(|now| beginnings.begin(*now).is_ok()).collect();
        for (i, first) in begun.iter().enumerate() {
            let within = begun[i..].iter().take_while(|at| at.saturating_sub(*first) < SECOND).count();
            assert!(within <= 3, "{within} from {first:?}");
        }
        assert!(begun.len() >= 18, "a rate that is not used up is of no use: {}", begun.len());
    }

    #[test]
    fn a_refusal_says_when_the_next_may_begin_and_uses_up_nothing() {
        let mut beginnings = CallStarts::new(Rate { calls: 1, per: SECOND });
        assert_eq!(beginnings.begin(SECOND), Ok(()));
        let later = SECOND + Duration::from_millis(400);
        assert_eq!(beginnings.begin(later), Err(Duration::from_millis(600)));
        assert_eq!(beginnings.begin(later), Err(Duration::from_millis(600)));
        assert_eq!(beginnings.begin(SECOND * 2), Ok(()));
    }

    #[test]
    fn a_rate_of_none_lets_nothing_begin() {
        let mut beginnings = CallStarts::new(Rate { calls: 0, per: SECOND });
        assert_eq!(beginnings.begin(SECOND), Err(SECOND));
    }
}
