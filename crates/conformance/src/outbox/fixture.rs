//! A store with an outbox, events to stage, and a relay that takes one step at a time.

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onefold_core::Result;
use onefold_core::event::{Aggregate, AggregateType, EventId, EventType, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{
    AsideStatus, CursorStep, EventPattern, EventPatterns, Found, JudgedEvent, LaneCursor, LaneState, Moved,
    PageSettlement, RelayName, RelaySpec, SendTime, WindowEnd, settle, settle_asides,
};
use onefold_core::port::{
    HeldLanes, LaneRequest, OutboxOperate, Poll, PollSize, Publication, Random as _, RelayStore, ReplayOperate, Staged,
    Staging,
};
use onefold_core::retry::Jitter;

use crate::fixture::StoreFixture;
use crate::harness::Harness;

/// A store whose events can be staged in a transaction.
pub trait OutboxHarness: Harness<Store: Staging + RelayStore + OutboxOperate + ReplayOperate> {
    /// Stages events in a transaction of their own, and commits it.
    fn stage(store: &Self::Store, events: Vec<NewEvent>) -> impl Future<Output = Result<Vec<Staged>>> + Send;
    /// The same, taken back at the end.
    fn stage_and_roll_back(store: &Self::Store, events: Vec<NewEvent>) -> impl Future<Output = Result<()>> + Send;
}

/// A lease that no test outlives.
pub const LONG: Duration = Duration::from_hours(1);

/// A relay as a test drives it.
pub struct RelayFixture<H: OutboxHarness> {
    /// The store below.
    pub fixture: StoreFixture<H>,
    /// The relay.
    pub spec: RelaySpec,
}

/// What a process holds of a relay.
#[derive(Debug, Clone)]
pub struct Holding {
    /// Who.
    pub holder: Arc<str>,
    /// What it holds.
    pub held: HeldLanes,
}

impl<H: OutboxHarness> RelayFixture<H> {
    /// A relay of all events, declared before anything was staged.
    pub async fn new() -> Self {
        let this = Self { fixture: StoreFixture::new().await, spec: relay("cases", &["*"]) };
        this.declare(&this.spec).await;
        this
    }

    /// The store.
    pub fn store(&self) -> &Arc<H::Store> {
        self.fixture.store()
    }

    /// Declares a relay.
    pub async fn declare(&self, spec: &RelaySpec) {
        self.store().declare(vec![spec.clone()], Arc::from("host/1")).await.expect("declared");
    }

    /// An event of an aggregate; each with its own id and payload.
    pub fn event(&self, event_type: &str, aggregate: &str) -> NewEvent {
        let id = EventId::from_bytes(self.fixture.random.bytes());
        NewEvent {
            id,
            aggregate: Aggregate {
                tenant: Tenant::default(),
                aggregate_type: AggregateType::parse("case").expect("a name"),
                id: Arc::from(aggregate),
            },
            event_type: EventType::parse(event_type).expect("a type"),
            schema_version: 1,
            payload: Bytes::from(format!("{{\"id\":\"{id}\"}}")),
            content_type: Arc::from("application/json"),
            headers: BTreeMap::new(),
            correlation_id: Some(Arc::from("req-1")),
        }
    }

    /// Stages events of `case.submitted`, one for each aggregate, each in its own commit.
    pub async fn staged(&self, aggregates: &[&str]) -> Vec<NewEvent> {
        let mut events = Vec::new();
        for aggregate in aggregates {
            let event = self.event("case.submitted", aggregate);
            H::stage(self.store(), vec![event.clone()]).await.expect("staged");
            events.push(event);
        }
        events
    }

    /// The lanes that a process holds now.
    pub async fn hold(&self, holder: &str, lease_for: Duration) -> Holding {
        let request =
            LaneRequest { relay: self.spec.name.clone(), holder: Arc::from(holder), lease_for, give_back: Vec::new() };
        let held = self.store().hold_lanes(request).await.expect("held");
        Holding { holder: Arc::from(holder), held }
    }

    /// What lies beyond these cursors.
    pub async fn poll(&self, cursors: &[LaneCursor], size: PollSize) -> Poll {
        self.store().poll(self.spec.events.clone(), cursors.to_vec(), size).await.expect("read")
    }

    /// Opens windows over what there is; the cursors with their windows, and the events of each lane.
    pub async fn open_windows(&self, holding: &Holding) -> Vec<(LaneCursor, Vec<Arc<StoredEvent>>)> {
        let polled = self.poll(&holding.held.cursors, PollSize::Events(1_000)).await;
        assert!(!polled.truncated);
        let mut windows = Vec::new();
        let mut steps = Vec::new();
        for (cursor, lane) in holding.held.cursors.iter().zip(&polled.lanes) {
            assert_eq!(cursor.lane, lane.lane);
            let found = match (lane.events.is_empty(), lane.unwanted) {
                (false, _) => Found::Wanted,
                (true, 0) => Found::Nothing,
                (true, _) => Found::OnlyUnwanted,
            };
            let step = cursor.next(found, &polled.seen, Moved::LongAgo);
            let events = lane.events.iter().map(|(_, event)| Arc::clone(event)).collect();
            match &step {
                CursorStep::Wait => {}
                CursorStep::Publish => windows.push((cursor.clone(), events)),
                CursorStep::OpenWindow(_) | CursorStep::PassUnwanted(_) | CursorStep::CloseWindow => {
                    windows.push((cursor.clone().after(&step), events));
                    steps.push((cursor.clone(), step));
                }
            }
        }
        let lanes: Vec<u16> = steps.iter().map(|(cursor, _)| cursor.lane).collect();
        let moved = self.store().move_cursors(self.spec.name.clone(), steps).await.expect("moved");
        assert_eq!(moved, lanes, "every lane is still held");
        windows
    }

    /// What a target's answers make of the events of a lane.
    pub fn judged(
        &self,
        holding: &Holding,
        (cursor, events): &(LaneCursor, Vec<Arc<StoredEvent>>),
        say: &impl Fn(&StoredEvent) -> Publication,
    ) -> PageSettlement {
        let mut stopped: HashSet<Aggregate> =
            holding.held.blocked.iter().map(|(_, aggregate)| aggregate.clone()).collect();
        let blocked = stopped.clone();
        let mut page = Vec::new();
        for stored in events {
            let aggregate = &stored.event.aggregate;
            let publication = if stopped.contains(aggregate) { Publication::NotSent } else { say(stored) };
            if !matches!(publication, Publication::Published { .. }) {
                stopped.insert(aggregate.clone());
            }
            page.push(JudgedEvent { stored: Arc::clone(stored), publication, aside: None });
        }
        let lane = LaneState {
            lane: cursor.lane,
            fence: cursor.fence,
            health: &cursor.health,
            blocked: &blocked,
            aside_room: 1_000,
        };
        settle(&self.spec, lane, &page, WindowEnd::Reached, self.time(holding))
    }

    /// Publishes everything there is, in windows of one page; what the target said of each event.
    pub async fn publish(&self, holder: &str, say: impl Fn(&StoredEvent) -> Publication) -> Vec<EventId> {
        let holding = self.hold(holder, LONG).await;
        let windows = self.open_windows(&holding).await;
        let mut sent = Vec::new();
        let mut pages = Vec::new();
        for window in windows.iter().filter(|(_, events)| !events.is_empty()) {
            let page = self.judged(&holding, window, &say);
            let aside: Vec<EventId> = page.asides.iter().map(|aside| aside.id).collect();
            sent.extend(window.1.iter().map(|stored| stored.event.id).filter(|id| !aside.contains(id)));
            pages.push(page);
        }
        let incidents = pages.iter().flat_map(PageSettlement::parked);
        let now = holding.held.now;
        let incidents = incidents
            .map(|aside| aside.incident_opened(onefold_core::error::EVENT_TARGET_REFUSED, "host/1", now))
            .collect();
        self.store().settle(self.spec.name.clone(), pages, incidents).await.expect("settled");
        sent
    }

    /// Tries again what was set aside and is due; what became of each event, by its aggregate.
    pub async fn try_asides(
        &self,
        holder: &str,
        say: impl Fn(&StoredEvent) -> Publication,
    ) -> Vec<(String, AsideStatus)> {
        let holding = self.hold(holder, LONG).await;
        let mut tried = Vec::new();
        for cursor in &holding.held.cursors {
            let relay = self.spec.name.clone();
            let due = self.store().asides_due(relay.clone(), vec![cursor.lane], 100).await.expect("read");
            let mut stopped = HashSet::new();
            let mut page = Vec::new();
            for (aside, stored) in due {
                let aggregate = stored.event.aggregate.clone();
                let publication = if stopped.contains(&aggregate) { Publication::NotSent } else { say(&stored) };
                if !matches!(publication, Publication::Published { .. }) {
                    stopped.insert(aggregate);
                }
                page.push(JudgedEvent { stored, publication, aside: Some(aside) });
            }
            let blocked = HashSet::new();
            let lane = LaneState {
                lane: cursor.lane,
                fence: cursor.fence,
                health: &cursor.health,
                blocked: &blocked,
                aside_room: 1_000,
            };
            let settled = settle_asides(&self.spec, lane, &page, self.time(&holding));
            tried.extend(settled.asides.iter().map(|aside| (aside.aggregate.id.to_string(), aside.status)));
            self.store().settle(relay, vec![settled], Vec::new()).await.expect("settled");
        }
        tried
    }

    /// When a page of this holder was sent.
    pub fn time(&self, holding: &Holding) -> SendTime {
        SendTime { now: holding.held.now, lease_until: holding.held.lease_until, jitter: Jitter(0) }
    }
}

/// A relay that wants these patterns.
pub fn relay(name: &str, events: &[&str]) -> RelaySpec {
    let patterns = events.iter().map(|pattern| EventPattern::parse(pattern).expect("a pattern")).collect();
    let events = EventPatterns::new(patterns).expect("at least one");
    RelaySpec::new(RelayName::parse(name).expect("a name"), events, "nowhere".to_owned())
}

/// The target has it.
pub fn taken(_: &StoredEvent) -> Publication {
    Publication::Published { position: None }
}
