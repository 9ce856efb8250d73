//! A replay: events that a relay has passed, sent again to its target, as many as its bounds allow.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::relay::RelayName;
use crate::error::{Code, Error, REPLAY_ENDED, REPLAY_UNBOUNDED, Result, VALIDATION_REJECTED};
use crate::event::{AggregateType, EventId, EventType, ReplayId};
use crate::ledger::named;
use crate::operation::Tenant;
use crate::time::Timestamp;

named! {
    /// What becomes of a replay.
    ReplayState {
        /// It waits for a process that serves its relay, or is sent by one.
        Running = "RUNNING",
        /// Everything within its bounds was sent.
        Done = "DONE",
        /// A person ended it.
        Cancelled = "CANCELLED",
    }
}

/// Which events of one tenant are sent again; each part narrows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayFilter {
    /// Of this tenant.
    pub tenant: Tenant,
    /// Of this type.
    pub event_type: Option<EventType>,
    /// Staged at this time or later.
    pub from: Option<Timestamp>,
    /// Staged before this time.
    pub to: Option<Timestamp>,
    /// About this aggregate.
    pub aggregate: Option<(AggregateType, Arc<str>)>,
}

impl ReplayFilter {
    /// Everything of a tenant: not enough for a replay.
    pub fn of(tenant: Tenant) -> Self {
        Self { tenant, event_type: None, from: None, to: None, aggregate: None }
    }

    fn narrows(&self) -> bool {
        self.event_type.is_some() || self.from.is_some() || self.to.is_some() || self.aggregate.is_some()
    }
}

/// A replay as it is asked for: always with a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySpec {
    /// Whose target they are sent to.
    pub relay: RelayName,
    /// Which events.
    pub filter: ReplayFilter,
    /// Events that are sent at most.
    pub events_max: u64,
    /// Events in a second.
    pub rate: u32,
}

impl ReplaySpec {
    /// Events that one replay may send.
    pub const EVENTS_MAX: u64 = 1_000_000;
    /// Events in a second, where nobody says.
    pub const RATE: u32 = 100;
    /// Events in a second at most.
    pub const RATE_MAX: u32 = 10_000;
    /// Replays of one relay that may be unfinished.
    pub const UNFINISHED_MAX: usize = 16;

    /// A replay within these bounds; refused without a filter or without a number of events.
    pub fn new(relay: RelayName, filter: ReplayFilter, events_max: Option<u64>, rate: Option<u32>) -> Result<Self> {
        if !filter.narrows() {
            return Err(unbounded("a replay names no events")
                .hint("narrow it by type, by time or by aggregate: --type, --from and --to, --aggregate"));
        }
        let events_max = events_max.ok_or_else(|| {
            unbounded("a replay does not say how many events it may send")
                .hint("give --max; a dry run (--dry-run) counts how many match")
        })?;
        if !(1..=Self::EVENTS_MAX).contains(&events_max) {
            let what = format!("max: a replay of {events_max} events is out of range");
            return Err(Error::new(VALIDATION_REJECTED, what).hint(format!("give 1 to {}", Self::EVENTS_MAX)));
        }
        let rate = rate.unwrap_or(Self::RATE);
        if !(1..=Self::RATE_MAX).contains(&rate) {
            let what = format!("rate: {rate} events in a second is out of range");
            return Err(Error::new(VALIDATION_REJECTED, what).hint(format!("give 1 to {}", Self::RATE_MAX)));
        }
        if let (Some(from), Some(to)) = (filter.from, filter.to)
            && from >= to
        {
            let what = format!("to: nothing was staged from {from} and before {to}");
            return Err(Error::new(VALIDATION_REJECTED, what).hint("give a time after `from`"));
        }
        Ok(Self { relay, filter, events_max, rate })
    }

    /// How long the next page waits after one of so many events that took so long.
    pub fn pause(&self, events: usize, took: Duration) -> Duration {
        let events = u32::try_from(events).unwrap_or(u32::MAX);
        (Duration::from_secs(1) * events / self.rate.max(1)).saturating_sub(took)
    }
}

fn unbounded(what: &str) -> Error {
    Error::new(REPLAY_UNBOUNDED, what)
}

/// A replay, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventReplay {
    /// Which one; what it sends carries it.
    pub id: ReplayId,
    /// What was asked for.
    pub spec: ReplaySpec,
    /// Who asked.
    pub who: Arc<str>,
    /// Why.
    pub why: Arc<str>,
    /// When.
    pub requested_at: Timestamp,
    /// What becomes of it.
    pub state: ReplayState,
    /// The last place that is done.
    pub pos: i64,
    /// The last place that there was when it was asked for: what was staged later is not sent again.
    pub last: i64,
    /// Events that the target took.
    pub published: u64,
    /// Events that it refused, or that can never be sent.
    pub refused: u64,
    /// The first of those.
    pub refusals: Vec<ReplayRefusal>,
    /// When it was done or cancelled.
    pub ended_at: Option<Timestamp>,
    /// Raised whenever another process takes it over; a write under an older one changes nothing.
    pub fence: u64,
}

/// An event that the target did not take in a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayRefusal {
    /// The event.
    pub event: String,
    /// Why, in one word.
    pub code: String,
    /// Why, in a sentence.
    pub reason: String,
}

impl ReplayRefusal {
    /// A target's refusal.
    pub fn new(event: EventId, code: Code, reason: &str) -> Self {
        let reason = reason.chars().take(200).collect();
        Self { event: event.to_string(), code: code.as_str().to_owned(), reason }
    }
}

/// What became of a page of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedPage {
    /// The last place that was looked at.
    pub pos: i64,
    /// Events that the target took.
    pub published: u64,
    /// Those that it refused.
    pub refusals: Vec<ReplayRefusal>,
}

impl EventReplay {
    /// Refused events that are named; the others are counted.
    pub const REFUSALS_MAX: usize = 20;
    /// Places that one page looks at: what does not match takes time too.
    pub const PLACES_MAX: i64 = 20_000;
    /// Events of one page: a live page that shares the target waits for no more than these.
    const PAGE_MAX: usize = 200;

    /// A replay that nobody has begun. It begins after the place `pos`.
    pub fn asked(request: ReplayRequest, (pos, last): (i64, i64), now: Timestamp) -> Self {
        Self {
            id: request.id,
            spec: request.spec,
            who: request.who,
            why: request.why,
            requested_at: now,
            state: ReplayState::Running,
            pos,
            last,
            published: 0,
            refused: 0,
            refusals: Vec::new(),
            ended_at: None,
            fence: 0,
        }
    }

    /// Events of its next page: at most those of a second, and never more than are left.
    pub fn page_max(&self, relay_page_max: usize) -> usize {
        let left = self.spec.events_max.saturating_sub(self.published + self.refused);
        let rate = usize::try_from(self.spec.rate).unwrap_or(usize::MAX);
        usize::try_from(left).unwrap_or(usize::MAX).min(rate).min(relay_page_max).min(Self::PAGE_MAX)
    }

    /// The places that its next page looks at: after the first, up to the second.
    pub fn places(&self) -> (i64, i64) {
        (self.pos, self.last.min(self.pos.saturating_add(Self::PLACES_MAX)))
    }

    /// The same after a page. It is done with its last place, or when as many events were sent as it may send.
    #[must_use]
    pub fn after(mut self, page: ReplayedPage, now: Timestamp) -> Self {
        self.pos = page.pos.max(self.pos);
        self.published += page.published;
        self.refused += u64::try_from(page.refusals.len()).unwrap_or(u64::MAX);
        let room = Self::REFUSALS_MAX.saturating_sub(self.refusals.len());
        self.refusals.extend(page.refusals.into_iter().take(room));
        if self.pos >= self.last || self.published + self.refused >= self.spec.events_max {
            self.state = ReplayState::Done;
            self.ended_at = Some(now);
        }
        self
    }

    /// The same after a person ended it; its holder writes nothing more.
    pub fn cancelled(mut self, now: Timestamp) -> Result<Self> {
        if self.state != ReplayState::Running {
            return Err(Error::new(REPLAY_ENDED, format!("replay {} is {}", self.id, self.state)));
        }
        self.state = ReplayState::Cancelled;
        self.ended_at = Some(now);
        self.fence += 1;
        Ok(self)
    }
}

/// A replay that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRequest {
    /// Which one it will be.
    pub id: ReplayId,
    /// What is asked for.
    pub spec: ReplaySpec,
    /// Who asks.
    pub who: Arc<str>,
    /// Why.
    pub why: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::EVENT_TARGET_REFUSED;

    fn filter() -> ReplayFilter {
        let event_type = Some(EventType::parse("case.submitted").unwrap());
        ReplayFilter { event_type, ..ReplayFilter::of(Tenant::default()) }
    }

    fn relay() -> RelayName {
        RelayName::parse("cases").unwrap()
    }

    fn replay(events_max: u64, last: i64) -> EventReplay {
        let spec = ReplaySpec::new(relay(), filter(), Some(events_max), Some(50)).unwrap();
        let request = ReplayRequest {
            id: ReplayId::fresh(Timestamp::from_micros(1), [7; 10]),
            spec,
            who: Arc::from("ops"),
            why: Arc::from("a hole"),
        };
        EventReplay::asked(request, (0, last), Timestamp::from_micros(1))
    }

    fn page(pos: i64, published: u64, refused: usize) -> ReplayedPage {
        let refusal = ReplayRefusal::new(EventId::from_bytes([1; 16]), EVENT_TARGET_REFUSED, "no");
        ReplayedPage { pos, published, refusals: vec![refusal; refused] }
    }

    #[test]
    fn a_replay_without_a_bound_is_refused_with_its_code() {
        let everything = ReplayFilter::of(Tenant::default());
        let code = |filter, max, rate| ReplaySpec::new(relay(), filter, max, rate).unwrap_err().code();
        assert_eq!(code(everything, Some(5), None), REPLAY_UNBOUNDED);
        assert_eq!(code(filter(), None, None), REPLAY_UNBOUNDED);
        for (max, rate) in [(0, 1), (1_000_001, 1), (1, 0), (1, 10_001)] {
            assert_eq!(code(filter(), Some(max), Some(rate)), VALIDATION_REJECTED, "{max} {rate}");
        }
        let at = |seconds: i64| Some(Timestamp::from_micros(seconds * 1_000_000));
        let backwards = ReplayFilter { from: at(2), to: at(2), ..filter() };
        assert_eq!(code(backwards, Some(5), None), VALIDATION_REJECTED);
        assert!(ReplaySpec::new(relay(), ReplayFilter { to: at(1), ..filter() }, Some(5), None).is_ok());
    }

    #[test]
    fn it_ends_with_its_last_place_or_when_it_has_sent_what_it_may() {
        let now = Timestamp::from_micros(9);
        let first = replay(100, 1_000).after(page(400, 40, 10), now);
        assert_eq!((first.state, first.pos, first.ended_at), (ReplayState::Running, 400, None));
        assert_eq!(first.page_max(1_000), 50, "as many as are left");
        let full = first.clone().after(page(500, 50, 0), now);
        assert_eq!((full.state, full.ended_at), (ReplayState::Done, Some(now)));
        let last = first.after(page(1_000, 0, 0), now);
        assert_eq!((last.state, last.published, last.refused), (ReplayState::Done, 40, 10));
        assert_eq!(last.cancelled(now).unwrap_err().code(), REPLAY_ENDED);
    }

    #[test]
    fn a_page_has_at_most_the_events_of_a_second_and_is_followed_by_the_rest_of_its_time() {
        let replay = replay(100_000, 1_000_000);
        assert_eq!(replay.page_max(1_000), 50);
        assert_eq!(replay.page_max(10), 10);
        assert_eq!(replay.places(), (0, EventReplay::PLACES_MAX));
        assert_eq!(replay.spec.pause(50, Duration::from_millis(300)), Duration::from_millis(700));
        assert_eq!(replay.spec.pause(10, Duration::from_millis(300)), Duration::ZERO);
    }

    #[test]
    fn refused_events_are_counted_and_the_first_of_them_named() {
        let now = Timestamp::from_micros(9);
        let replay = replay(1_000, 1_000).after(page(1, 0, 15), now).after(page(2, 0, 15), now);
        assert_eq!((replay.refused, replay.refusals.len()), (30, EventReplay::REFUSALS_MAX));
    }
}
