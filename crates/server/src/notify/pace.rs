//! How often someone is woken: once a cause in a while, and so many times a minute in all.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use onefold_core::incident::GroupKey;
use onefold_core::port::IncidentEvent;

const MINUTE: Duration = Duration::from_mins(1);

/// Says whether a cause may be told now. Time is an argument: any clock that never goes back.
#[derive(Debug)]
pub(super) struct Pace {
    group_for: Duration,
    per_minute_max: usize,
    causes: HashMap<(IncidentEvent, GroupKey), Duration>,
    recent: VecDeque<Duration>,
}

impl Pace {
    pub(super) fn new(group_for: Duration, per_minute_max: u32) -> Self {
        let per_minute_max = usize::try_from(per_minute_max).unwrap_or(usize::MAX);
        Self { group_for, per_minute_max, causes: HashMap::new(), recent: VecDeque::new() }
    }

    /// Whether this cause may be told now; if so, it is counted.
    pub(super) fn may(&mut self, event: IncidentEvent, cause: &GroupKey, now: Duration) -> bool {
        self.causes.retain(|_, at| now.saturating_sub(*at) < self.group_for);
        while self.recent.front().is_some_and(|at| now.saturating_sub(*at) >= MINUTE) {
            self.recent.pop_front();
        }
        let key = (event, cause.clone());
        if self.causes.contains_key(&key) || self.recent.len() >= self.per_minute_max {
            return false;
        }
        self.causes.insert(key, now);
        self.recent.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_in_its_time_and_all_of_them_so_often_a_minute() {
        let mut pace = Pace::new(Duration::from_secs(30), 3);
        let (at, opened) = (Duration::from_secs, IncidentEvent::Opened);
        let cause = |name: &str| GroupKey::stored(name);
        assert!(pace.may(opened, &cause("a"), at(0)));
        assert!(!pace.may(opened, &cause("a"), at(29)));
        assert!(pace.may(IncidentEvent::Closed, &cause("a"), at(29)), "its closing is another message");
        assert!(pace.may(opened, &cause("a"), at(30)));
        assert!(!pace.may(opened, &cause("b"), at(31)), "three in this minute");
        assert!(pace.may(opened, &cause("b"), at(60)));
    }
}
