//! How many calls may begin in a time.

use std::collections::VecDeque;
use std::time::Duration;

/// How many calls may begin in any stretch of time of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many; zero allows none.
    pub calls: u32,
    /// In how long.
    pub per: Duration,
}

impl Rate {
    /// Reads a rate as configuration writes it: `50/s`, `300/m`, `1000/h`. None for anything else, and for zero.
    ///
    /// ```
    /// use std::time::Duration;
    /// use onefold_runtime::Rate;
    ///
    /// assert_eq!(Rate::parse("50/s"), Some(Rate { calls: 50, per: Duration::from_secs(1) }));
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (calls, unit) = text.split_once('/')?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            _ => return None,
        };
        if !calls.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let calls = calls.parse().ok().filter(|calls| *calls > 0)?;
        Some(Self { calls, per: Duration::from_secs(seconds) })
    }
}

/// When the last calls began: as many as may begin in the rate's time, and no more.
#[derive(Debug)]
pub(super) struct Beginnings {
    rate: Rate,
    at: VecDeque<Duration>,
}

impl Beginnings {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_rate_is_a_count_and_a_unit() {
        assert_eq!(Rate::parse("300/m"), Some(Rate { calls: 300, per: Duration::from_mins(1) }));
        assert_eq!(Rate::parse("7/h"), Some(Rate { calls: 7, per: Duration::from_hours(1) }));
        for wrong in ["", "50", "/s", "50/", "50/d", "0/s", "-1/s", "+1/s", "1.5/s", "50 /s", "50/s/s", "99999999999/s"]
        {
            assert_eq!(Rate::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn no_stretch_of_time_has_more_beginnings_than_the_rate() {
        let mut beginnings = Beginnings::new(Rate { calls: 3, per: SECOND });
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
        let mut beginnings = Beginnings::new(Rate { calls: 1, per: SECOND });
        assert_eq!(beginnings.begin(SECOND), Ok(()));
        let later = SECOND + Duration::from_millis(400);
        assert_eq!(beginnings.begin(later), Err(Duration::from_millis(600)));
        assert_eq!(beginnings.begin(later), Err(Duration::from_millis(600)));
        assert_eq!(beginnings.begin(SECOND * 2), Ok(()));
    }

    #[test]
    fn a_rate_of_none_lets_nothing_begin() {
        let mut beginnings = Beginnings::new(Rate { calls: 0, per: SECOND });
        assert_eq!(beginnings.begin(SECOND), Err(SECOND));
    }
}
