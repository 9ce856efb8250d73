//! Every short history of a dead dependency, against a bound that knows nothing of the breaker's states.

use std::time::Duration;

use super::limit_state::{CallEnd, LimitState, PermitGuard};
use onefold_config::{Breaker, DependencyDeclaration};

const OPEN_FOR: Duration = Duration::from_secs(10);
const HALF: Duration = Duration::from_secs(5);

/// What can happen next. The dependency is dead: no call succeeds.
#[derive(Debug, Clone, Copy)]
enum Event {
    Asks,
    OldestFails,
    NewestFails,
    OldestIsDropped,
    TimePasses,
}

const EVENTS: [Event; 5] =
    [Event::Asks, Event::OldestFails, Event::NewestFails, Event::OldestIsDropped, Event::TimePasses];

/// What an observer outside can count.
#[derive(Debug, Default)]
struct Observed {
    let_through: u32,
    failures: u32,
    dropped: u32,
    /// When the failures reached the threshold, and how many calls were in flight then.
    opened: Option<(Duration, u32)>,
}

impl Observed {
    /// Threshold, calls in flight when it opened, one per probe; a dropped call counted as nothing.
    fn bound(&self, threshold: u32, now: Duration) -> Option<u32> {
        let (at, in_flight) = self.opened?;
        let probes = u32::try_from(now.saturating_sub(at).as_secs() / OPEN_FOR.as_secs()).unwrap();
        Some(threshold + in_flight + probes + self.dropped)
    }
}

fn play(threshold: u32, history: &[Event]) {
    let mut state = LimitState::new(&DependencyDeclaration {
        breaker: Some(Breaker { failures: threshold, open_for: OPEN_FOR }),
        ..DependencyDeclaration::default()
    });
    let mut now = OPEN_FOR;
    let mut calls: Vec<PermitGuard> = Vec::new();
    let mut seen = Observed::default();
    for event in history {
        let (call, end) = match event {
            Event::Asks => {
                if let Ok(guard) = state.enter(now) {
                    calls.push(guard);
                    seen.let_through += 1;
                }
                (None, CallEnd::Neither)
            }
            Event::TimePasses => {
                now += HALF;
                (None, CallEnd::Neither)
            }
            Event::OldestFails if !calls.is_empty() => (Some(calls.remove(0)), CallEnd::Failed),
            Event::NewestFails => (calls.pop(), CallEnd::Failed),
            Event::OldestIsDropped if !calls.is_empty() => (Some(calls.remove(0)), CallEnd::Neither),
            Event::OldestFails | Event::OldestIsDropped => (None, CallEnd::Neither),
        };
        if let Some(call) = call {
            state.leave(call, end, now);
            if matches!(end, CallEnd::Failed) { seen.failures += 1 } else { seen.dropped += 1 }
        }
        if seen.failures == threshold && seen.opened.is_none() {
            seen.opened = Some((now, u32::try_from(calls.len()).unwrap()));
        }
        if let Some(bound) = seen.bound(threshold, now) {
            assert!(seen.let_through <= bound, "{} let through, bound {bound}: {history:?}", seen.let_through);
        }
    }
}

#[test]
fn an_outage_costs_the_threshold_the_calls_in_flight_and_one_per_probe() {
    for threshold in 1..=3 {
        let length = 8;
        for number in 0..EVENTS.len().pow(length) {
            let history: Vec<Event> =
                (0..length).map(|place| EVENTS[number / EVENTS.len().pow(place) % EVENTS.len()]).collect();
            play(threshold, &history);
        }
    }
}

#[test]
fn a_dead_dependency_is_still_probed() {
    use Event::{Asks, NewestFails, TimePasses};
    let mut state = LimitState::new(&DependencyDeclaration {
        breaker: Some(Breaker { failures: 1, open_for: OPEN_FOR }),
        ..DependencyDeclaration::default()
    });
    let mut now = OPEN_FOR;
    let mut through = 0;
    for event in [Asks, NewestFails, TimePasses, TimePasses].repeat(5) {
        match event {
            TimePasses => now += HALF,
            Asks => {
                let guard = state.enter(now).unwrap();
                state.leave(guard, CallEnd::Failed, now);
                through += 1;
            }
            NewestFails => assert!(state.enter(now).is_err()),
            Event::OldestFails | Event::OldestIsDropped => {}
        }
    }
    assert_eq!(through, 5);
}
