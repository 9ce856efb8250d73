//! The lanes that this process holds for a relay, and for how long it may act on them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::event::Aggregate;
use onefold_core::outbox::{EventPatterns, LaneCursor, Moved};
use onefold_core::port::{Clock, HeldLanes};

/// How often events that nobody wants are passed.
const PASS_EVERY: Duration = Duration::from_secs(1);

/// What this process holds.
pub(crate) struct Lanes {
    pub(crate) cursors: BTreeMap<u16, LaneCursor>,
    pub(crate) blocked: HashMap<u16, HashSet<Aggregate>>,
    pub(crate) events: EventPatterns,
    pub(crate) lease_until: Timestamp,
    pub(crate) surplus: Vec<u16>,
    pub(crate) set_aside: usize,
    /// When events that nobody wants were last passed.
    pub(crate) passed_at: Option<Duration>,
    /// The store's time when it answered.
    now: Timestamp,
    held_since: HeldSince,
}

/// When the lease was asked for, by both clocks: the longer of the two counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldSince {
    monotonic: Duration,
    boot: Duration,
}

impl HeldSince {
    /// Read before the store is asked, so that its answer's way counts.
    pub(crate) fn read(clock: &dyn Clock) -> Self {
        Self { monotonic: clock.monotonic(), boot: clock.boot() }
    }

    /// How long ago that was; time that the machine slept counts.
    pub(crate) fn elapsed(self, clock: &dyn Clock) -> Duration {
        let monotonic = clock.monotonic().saturating_sub(self.monotonic);
        monotonic.max(clock.boot().saturating_sub(self.boot))
    }
}

impl Lanes {
    pub(crate) fn new(held: HeldLanes, since: HeldSince) -> Self {
        let mut blocked: HashMap<u16, HashSet<Aggregate>> = HashMap::new();
        for (lane, aggregate) in held.blocked {
            blocked.entry(lane).or_default().insert(aggregate);
        }
        Self {
            cursors: held.cursors.into_iter().map(|cursor| (cursor.lane, cursor)).collect(),
            blocked,
            events: held.events,
            lease_until: held.lease_until,
            surplus: held.surplus,
            set_aside: held.set_aside,
            passed_at: None,
            now: held.now,
            held_since: since,
        }
    }

    /// How long ago the lease was renewed.
    pub(crate) fn age(&self, clock: &dyn Clock) -> Duration {
        self.held_since.elapsed(clock)
    }

    /// The store's time, carried forward by this process' own clocks.
    pub(crate) fn store_now(&self, clock: &dyn Clock) -> Timestamp {
        self.now.plus(self.age(clock))
    }

    /// Whether unwanted events may be passed: at most once a second, because it is a commit.
    pub(crate) fn passed(&self, clock: &dyn Clock) -> Moved {
        let recent = |at: Duration| clock.monotonic().saturating_sub(at) < PASS_EVERY;
        if self.passed_at.is_some_and(recent) { Moved::JustNow } else { Moved::LongAgo }
    }

    /// Drops the lanes that another process holds now; which ones.
    pub(crate) fn keep(&mut self, asked: &[u16], moved: &[u16]) -> Vec<u16> {
        let lost: Vec<u16> = asked.iter().copied().filter(|lane| !moved.contains(lane)).collect();
        for lane in &lost {
            self.cursors.remove(lane);
        }
        lost
    }

    /// The aggregates of a lane of which an event is set aside.
    pub(crate) fn blocked_in(&self, lane: u16) -> HashSet<Aggregate> {
        self.blocked.get(&lane).cloned().unwrap_or_default()
    }

    /// The cursors that may move: stopped ones wait for a person.
    pub(crate) fn moving(&self) -> Vec<LaneCursor> {
        self.cursors.values().filter(|cursor| cursor.stopped.is_none()).cloned().collect()
    }
}
