//! What a relay's loop asks of the store. Each call runs to its end, even if nobody waits any more.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{CursorStep, EventPatterns, EventPlace, LaneCursor, PageSettlement, RelayName, RelaySpec};
use onefold_core::port::{
    AsideWithEvent, BoxFuture, HeldLanes, LaneRequest, Poll, PollSize, RelayStore, SubjectChange,
};

use crate::Postgres;

impl RelayStore for Postgres {
    fn declare(&self, relays: Vec<RelaySpec>, by: Arc<str>) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.declare_relays(&relays, &by)).await }))
    }

    fn hold_lanes(&self, request: LaneRequest) -> BoxFuture<'_, Result<HeldLanes>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.hold(&request)).await }))
    }

    fn poll(&self, events: EventPatterns, cursors: Vec<LaneCursor>, size: PollSize) -> BoxFuture<'_, Result<Poll>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.poll_lanes(&events, &cursors, size)).await }))
    }

    fn events_at(&self, places: Vec<EventPlace>) -> BoxFuture<'_, Result<Vec<Arc<StoredEvent>>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.read_events(&places)).await }))
    }

    fn move_cursors(&self, relay: RelayName, steps: Vec<(LaneCursor, CursorStep)>) -> BoxFuture<'_, Result<Vec<u16>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.move_lanes(&relay, &steps)).await }))
    }

    fn settle(
        &self,
        relay: RelayName,
        pages: Vec<PageSettlement>,
        incidents: Vec<SubjectChange>,
    ) -> BoxFuture<'_, Result<Vec<u16>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.settle_pages(&relay, &pages, &incidents)).await }))
    }

    fn asides_due(
        &self,
        relay: RelayName,
        lanes: Vec<u16>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AsideWithEvent>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.due_asides(&relay, &lanes, limit)).await }))
    }
}
