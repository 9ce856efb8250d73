//! A relay on the server's own file, driven step by step by the test, so that events are set aside on purpose.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::{Code, EVENT_TARGET_REFUSED};
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{
    CursorStep, EventPattern, EventPatterns, JudgedEvent, LaneCursor, LaneState, PageSettlement, RelayName, RelaySpec,
    SendTime, WindowEnd, settle,
};
use onefold_core::port::{HeldLanes, LaneRequest, PollSize, Publication, RefusedRetry, RelayStore as _};
use onefold_core::retry::Jitter;
use onefold_runtime::{SystemClock, SystemRandom};
use onefold_sqlite::{Sqlite, SqliteOptions};

/// When the lease ended under which the relay sent what it was refused.
#[derive(Clone, Copy)]
pub(crate) enum Lease {
    /// Long ago: a person may skip and edit.
    Over,
    /// Not yet.
    Running,
}

/// A relay of the server's file.
pub(crate) struct RelayFixture {
    runtime: tokio::runtime::Runtime,
    store: Sqlite,
    spec: RelaySpec,
}

impl RelayFixture {
    /// Declares a relay of these events.
    pub(crate) fn declared(database: &Path, name: &str, events: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let options = SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()));
        let store = runtime.block_on(Sqlite::open(database, options)).unwrap();
        let events = EventPatterns::new(vec![EventPattern::parse(events).unwrap()]).unwrap();
        let spec = RelaySpec::new(RelayName::parse(name).unwrap(), events, "https://partner.example".to_owned());
        runtime.block_on(store.declare(vec![spec.clone()], Arc::from("host/1"))).unwrap();
        Self { runtime, store, spec }
    }

    /// Sends what waits; the target refuses every event with this reason, and never wants it again.
    pub(crate) fn refuse_all(&self, reason: &str, lease: Lease) {
        self.settle_all(lease, None, |_| Publication::Refused {
            code: EVENT_TARGET_REFUSED,
            reason: reason.to_owned(),
            retry: RefusedRetry::Never,
        });
    }

    /// Sends what waits, and stops for this reason.
    pub(crate) fn stop(&self, code: Code) {
        self.settle_all(Lease::Over, Some(code), |_| Publication::Published { position: None });
    }

    fn settle_all(&self, lease: Lease, stopped: Option<Code>, say: impl Fn(&StoredEvent) -> Publication) {
        self.runtime.block_on(async {
            let request = LaneRequest {
                relay: self.spec.name.clone(),
                holder: Arc::from("host/1"),
                lease_for: Duration::from_mins(1),
                give_back: Vec::new(),
            };
            let held = self.store.hold_lanes(request).await.unwrap();
            let (cursor, events) = self.window(&held).await;
            let page = self.judged(&held, &cursor, events, lease, say);
            let page = PageSettlement { stopped, ..page };
            let now = held.now;
            let incidents = page.parked().map(|aside| aside.incident_opened(EVENT_TARGET_REFUSED, "host/1", now));
            let incidents = incidents.collect();
            let moved = self.store.settle(self.spec.name.clone(), vec![page], incidents).await.unwrap();
            assert_eq!(moved, [cursor.lane]);
        });
    }

    /// The one lane of a file, with everything that waits in its window.
    async fn window(&self, held: &HeldLanes) -> (LaneCursor, Vec<Arc<StoredEvent>>) {
        let polled = self.store.poll(held.events.clone(), held.cursors.clone(), PollSize::Events(1_000)).await.unwrap();
        let events = polled.lanes[0].events.iter().map(|(_, event)| Arc::clone(event)).collect();
        let step = CursorStep::OpenWindow(polled.seen);
        let cursor = held.cursors[0].clone();
        self.store.move_cursors(self.spec.name.clone(), vec![(cursor.clone(), step.clone())]).await.unwrap();
        (cursor.after(&step), events)
    }

    fn judged(
        &self,
        held: &HeldLanes,
        cursor: &LaneCursor,
        events: Vec<Arc<StoredEvent>>,
        lease: Lease,
        say: impl Fn(&StoredEvent) -> Publication,
    ) -> PageSettlement {
        let mut refused = HashSet::new();
        let mut page = Vec::new();
        for stored in events {
            let follows = refused.contains(&stored.event.aggregate);
            let publication = if follows { Publication::NotSent } else { say(&stored) };
            if !matches!(publication, Publication::Published { .. }) {
                refused.insert(stored.event.aggregate.clone());
            }
            page.push(JudgedEvent { stored, publication, aside: None });
        }
        let blocked = HashSet::new();
        let lane = LaneState {
            lane: cursor.lane,
            fence: cursor.fence,
            health: &cursor.health,
            blocked: &blocked,
            aside_room: 1_000,
        };
        let lease_until = match lease {
            Lease::Over => held.now.minus(Duration::from_mins(1)),
            Lease::Running => held.now.plus(Duration::from_hours(1)),
        };
        let time = SendTime { now: held.now, lease_until, jitter: Jitter(0) };
        settle(&self.spec, lane, &page, WindowEnd::Reached, time)
    }
}
