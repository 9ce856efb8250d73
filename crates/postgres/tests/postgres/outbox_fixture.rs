//! Events to stage, and a relay that takes one step at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use onefold_core::Result;
use onefold_core::event::{Aggregate, AggregateType, EventId, EventType, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{
    AsideEvent, AsideStatus, Begin, CursorStep, EventPattern, EventPatterns, Found, LaneCursor, LaneHealth, Moved,
    PageSettlement, RelayName, RelaySpec, WindowEnd,
};
use onefold_core::port::{HeldLanes, LaneRequest, PollSize, RelayStore as _, StageOrder, Staged, Staging as _};
use onefold_postgres::Postgres;

use crate::fixture::Schema;

/// A lease that no test outlives.
pub(crate) const LONG: Duration = Duration::from_hours(1);

/// An event of an aggregate, with an id of its own.
pub(crate) fn event(event_type: &str, aggregate: &str, payload: &str) -> NewEvent {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NewEvent {
        id: EventId::from_bytes(u128::from(NUMBER.fetch_add(1, Ordering::Relaxed)).to_be_bytes()),
        aggregate: Aggregate {
            tenant: Tenant::default(),
            aggregate_type: AggregateType::parse("case").unwrap(),
            id: Arc::from(aggregate),
        },
        event_type: EventType::parse(event_type).unwrap(),
        schema_version: 1,
        payload: Bytes::from(payload.to_owned()),
        content_type: Arc::from("application/json"),
        headers: BTreeMap::new(),
        correlation_id: None,
    }
}

/// Some events of one aggregate.
pub(crate) fn events(aggregate: &str, count: usize) -> Vec<NewEvent> {
    (0..count).map(|number| event("case.submitted", aggregate, &format!("{{\"number\": {number}}}"))).collect()
}

/// Patterns of types.
pub(crate) fn patterns(texts: &[&str]) -> EventPatterns {
    EventPatterns::new(texts.iter().map(|text| EventPattern::parse(text).unwrap()).collect()).unwrap()
}

/// A relay of these types.
pub(crate) fn spec(name: &str, types: &[&str]) -> RelaySpec {
    let spec = RelaySpec::new(RelayName::parse(name).unwrap(), patterns(types), "memory".to_owned());
    RelaySpec { begin: Begin::Oldest, ..spec }
}

/// Stages events in a transaction of their own, and commits it.
pub(crate) async fn stage(store: &Postgres, events: &[NewEvent]) -> Result<Vec<Staged>> {
    let mut transaction = store.begin().await?;
    let staged = store.stage(&mut transaction, events, StageOrder::AggregateIsLocked).await?;
    transaction.commit().await?;
    Ok(staged)
}

/// A store in a schema of its own, with a relay of all events.
pub(crate) struct OutboxFixture {
    pub(crate) schema: Schema,
    pub(crate) store: Postgres,
    pub(crate) spec: RelaySpec,
}

impl OutboxFixture {
    pub(crate) async fn new() -> Self {
        let schema = Schema::new();
        let store = schema.open().await.unwrap();
        let this = Self { schema, store, spec: spec("cases", &["*"]) };
        this.declare(this.spec.clone()).await.unwrap();
        this
    }

    pub(crate) async fn declare(&self, spec: RelaySpec) -> Result<()> {
        self.store.declare(vec![spec], Arc::from("host/1")).await
    }

    /// A connection that finds the tables.
    pub(crate) async fn connect(&self) -> sqlx::PgConnection {
        let mut connection = self.schema.connect().await;
        crate::fixture::run(&mut connection, &format!("SET search_path = {}", self.schema.name)).await;
        connection
    }

    pub(crate) fn relay(&self) -> RelayName {
        self.spec.name.clone()
    }

    pub(crate) async fn stage(&self, events: &[NewEvent]) -> Vec<Staged> {
        stage(&self.store, events).await.unwrap()
    }

    pub(crate) async fn hold(&self, holder: &str, lease_for: Duration) -> HeldLanes {
        self.hold_and_give_back(holder, lease_for, Vec::new()).await
    }

    pub(crate) async fn hold_and_give_back(&self, holder: &str, lease_for: Duration, give_back: Vec<u16>) -> HeldLanes {
        let request = LaneRequest { relay: self.relay(), holder: Arc::from(holder), lease_for, give_back };
        self.store.hold_lanes(request).await.unwrap()
    }

    /// Opens windows over what there is; each cursor with its window, and the events of its lane.
    pub(crate) async fn open_windows(&self, cursors: &[LaneCursor]) -> Vec<(LaneCursor, Vec<Arc<StoredEvent>>)> {
        open_windows(&self.store, &self.spec, cursors).await
    }

    /// Publishes everything that there is, window by window; the payloads, lane by lane.
    pub(crate) async fn publish(&self, holder: &str) -> Vec<String> {
        let cursors = self.hold(holder, LONG).await.cursors;
        let mut published = Vec::new();
        for (cursor, events) in self.open_windows(&cursors).await {
            published.extend(events.iter().map(|event| payload(event)));
            let page = settlement(&cursor, events.last().map(|event| event.seq), WindowEnd::Reached);
            assert_eq!(self.store.settle(self.relay(), vec![page], Vec::new()).await.unwrap(), [cursor.lane]);
        }
        published
    }
}

/// Opens windows over what there is; each cursor with its window, and the events of its lane.
pub(crate) async fn open_windows(
    store: &Postgres,
    spec: &RelaySpec,
    cursors: &[LaneCursor],
) -> Vec<(LaneCursor, Vec<Arc<StoredEvent>>)> {
    let poll = store.poll(spec.events.clone(), cursors.to_vec(), PollSize::Events(1_000)).await.unwrap();
    assert!(!poll.truncated);
    let (mut windows, mut steps) = (Vec::new(), Vec::new());
    for (cursor, lane) in cursors.iter().zip(&poll.lanes) {
        let found = found(lane.events.len(), lane.unwanted);
        let step = cursor.next(found, &poll.seen, Moved::LongAgo);
        let events: Vec<_> = lane.events.iter().map(|(_, event)| Arc::clone(event)).collect();
        if !events.is_empty() {
            windows.push((cursor.clone().after(&step), events));
        }
        if !matches!(step, CursorStep::Wait | CursorStep::Publish) {
            steps.push((cursor.clone(), step));
        }
    }
    store.move_cursors(spec.name.clone(), steps).await.unwrap();
    windows
}

pub(crate) fn found(events: usize, unwanted: usize) -> Found {
    match (events, unwanted) {
        (0, 0) => Found::Nothing,
        (0, _) => Found::OnlyUnwanted,
        (_, _) => Found::Wanted,
    }
}

pub(crate) fn payload(event: &StoredEvent) -> String {
    String::from_utf8(event.event.payload.to_vec()).unwrap()
}

/// A page of which the target took everything.
pub(crate) fn settlement(cursor: &LaneCursor, pos: Option<i64>, window: WindowEnd) -> PageSettlement {
    PageSettlement {
        lane: cursor.lane,
        fence: cursor.fence,
        pos,
        window,
        asides: Vec::new(),
        published: 0,
        passed: 0,
        on_time: 0,
        health: LaneHealth::default(),
        stopped: None,
        unavailable: None,
    }
}

/// An event that a relay sets aside.
pub(crate) fn aside(fixture: &OutboxFixture, lane: u16, stored: &StoredEvent, status: AsideStatus) -> AsideEvent {
    AsideEvent {
        relay: fixture.relay(),
        id: stored.event.id,
        seq: stored.seq,
        lane,
        aggregate: stored.event.aggregate.clone(),
        status,
        attempts: u32::from(status != AsideStatus::Behind),
        next_attempt_at: stored.created_at,
        tried_until: stored.created_at,
        code: Some(onefold_core::error::EVENT_TARGET_REFUSED.name()),
        reason: Some("no".to_owned()),
        edit: None,
    }
}
