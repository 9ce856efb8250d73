//! Every short history of a dead dependency, against a bound that knows nothing of the breaker's states.

use std::time::Duration;

use super::gate::{End, Gate, Place};
use super::{Breaker, Limits};

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
struct Seen {
    let_through: u32,
    failures: u32,
    dropped: u32,
    /// When the failures reached the threshold, and how many calls were under way then.
    opened: Option<(Duration, u32)>,
}

impl Seen {
    /// Threshold, calls under way when it opened, one per probe; a dropped call counted as nothing.
    fn bound(&self, threshold: u32, now: Duration) -> Option<u32> {
        let (at, under_way) = self.opened?;
        let probes = u32::try_from(now.saturating_sub(at).as_secs() / OPEN_FOR.as_secs()).unwrap();
        Some(threshold + under_way + probes + self.dropped)
    }
}

fn play(threshold: u32, history: &[Event]) {
    let mut gate =
        Gate::new(Limits { breaker: Some(Breaker { failures: threshold, open_for: OPEN_FOR }), ..Limits::default() });
    let mut now = OPEN_FOR;
    let mut calls: Vec<Place> = Vec::new();
    let mut seen = Seen::default();
    for event in history {
        let (call, end) = match event {
            Event::Asks => {
                if let Ok(place) = gate.enter(now) {
                    calls.push(place);
                    seen.let_through += 1;
                }
                (None, End::Neither)
            }
            Event::TimePasses => {
                now += HALF;
                (None, End::Neither)
            }
            Event::OldestFails if !calls.is_empty() => (Some(calls.remove(0)), End::Failed),
            Event::NewestFails => (calls.pop(), End::Failed),
            Event::OldestIsDropped if !calls.is_empty() => (Some(calls.remove(0)), End::Neither),
            Event::OldestFails | Event::OldestIsDropped => (None, End::Neither),
        };
        if let Some(call) = call {
            gate.leave(call, end, now);
            if matches!(end, End::Failed) { seen.failures += 1 } else { seen.dropped += 1 }
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
fn an_outage_costs_the_threshold_the_calls_under_way_and_one_per_probe() {
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
    let mut gate =
        Gate::new(Limits { breaker: Some(Breaker { failures: 1, open_for: OPEN_FOR }), ..Limits::default() });
    let mut now = OPEN_FOR;
    let mut through = 0;
    for event in [Asks, NewestFails, TimePasses, TimePasses].repeat(5) {
        match event {
            TimePasses => now += HALF,
            Asks => {
                let place = gate.enter(now).unwrap();
                gate.leave(place, End::Failed, now);
                through += 1;
            }
            NewestFails => assert!(gate.enter(now).is_err()),
            Event::OldestFails | Event::OldestIsDropped => {}
        }
    }
    assert_eq!(through, 5);
}
