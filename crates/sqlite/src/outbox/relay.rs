//! What a relay's loop asks of the store.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{CursorStep, EventPatterns, EventPlace, LaneCursor, PageSettlement, RelayName, RelaySpec};
use onefold_core::port::{
    AsideWithEvent, BoxFuture, FaultPoint, HeldLanes, LaneRequest, Poll, PollSize, RelayStore, SubjectChange,
};

use super::{asides, lanes, poll, settle};
use crate::Sqlite;
use crate::ledger::transition::in_transaction;

impl RelayStore for Sqlite {
    fn declare(&self, relays: Vec<RelaySpec>, by: Arc<str>) -> BoxFuture<'_, Result<()>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| lanes::declare(connection, &relays, &by, now))
        }))
    }

    fn hold_lanes(&self, request: LaneRequest) -> BoxFuture<'_, Result<HeldLanes>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| lanes::hold(connection, &request, now))
        }))
    }

    fn poll(&self, events: EventPatterns, cursors: Vec<LaneCursor>, size: PollSize) -> BoxFuture<'_, Result<Poll>> {
        Box::pin(async move {
            let reader = self.events_reader()?;
            reader.call(move |connection| poll::poll(connection, &events, &cursors, size)).await
        })
    }

    fn events_at(&self, places: Vec<EventPlace>) -> BoxFuture<'_, Result<Vec<Arc<StoredEvent>>>> {
        Box::pin(async move {
            let reader = self.events_reader()?;
            reader.call(move |connection| poll::events_at(connection, &places)).await
        })
    }

    fn move_cursors(&self, relay: RelayName, steps: Vec<(LaneCursor, CursorStep)>) -> BoxFuture<'_, Result<Vec<u16>>> {
        let (clock, faults) = (Arc::clone(&self.inner.clock), Arc::clone(&self.inner.faults));
        Box::pin(self.inner.writer.call(move |connection| {
            let moved = in_transaction(connection, &clock, |connection, _| {
                let moved = settle::move_cursors(connection, &relay, steps)?;
                faults.reach(FaultPoint::BEFORE_WINDOW_COMMIT);
                Ok(moved)
            });
            faults.reach(FaultPoint::AFTER_WINDOW_COMMIT);
            moved
        }))
    }

    fn settle(
        &self,
        relay: RelayName,
        pages: Vec<PageSettlement>,
        incidents: Vec<SubjectChange>,
    ) -> BoxFuture<'_, Result<Vec<u16>>> {
        let (clock, faults) = (Arc::clone(&self.inner.clock), Arc::clone(&self.inner.faults));
        Box::pin(self.inner.writer.call(move |connection| {
            let (before, after) = FaultPoint::around_settlement(&pages);
            let moved = in_transaction(connection, &clock, |connection, now| {
                let moved = settle::settle(connection, &relay, &pages, incidents, now)?;
                faults.reach(before);
                Ok(moved)
            });
            faults.reach(after);
            moved
        }))
    }

    fn asides_due(
        &self,
        relay: RelayName,
        lanes: Vec<u16>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AsideWithEvent>>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(async move {
            let reader = self.events_reader()?;
            let (asked, looked) = (lanes.clone(), relay.clone());
            let at = clock.now();
            let due = reader.call(move |connection| asides::due(connection, &looked, &asked, limit, at)).await?;
            if due.is_empty() {
                return Ok(due);
            }
            // Until the lease ends it may be sent: nobody skips or edits what is on its way.
            self.inner
                .writer
                .call(move |connection| {
                    in_transaction(connection, &clock, |connection, _| asides::sending(connection, &relay, &lanes, due))
                })
                .await
        })
    }
}
