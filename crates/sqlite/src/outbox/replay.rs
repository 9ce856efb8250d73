//! What is sent again: who asked for it, which process sends it, and how far that is.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::{LIMIT_EXCEEDED, REPLAY_NOT_FOUND};
use onefold_core::event::{ReplayId, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{EventReplay, RelayName, ReplayRequest, ReplaySpec, ReplayedPage};
use onefold_core::port::{BoxFuture, ReplayCancel, ReplayListFilter, ReplayOperate, ReplayPage, ReplayStore};
use onefold_core::row::{Cell, opt_text, text, time};
use onefold_core::{Error, Result, Timestamp};
use rusqlite::Connection;

use super::replay_row::{cells, filter_cells, number, replay, settled_cells};
use super::{lanes, row};
use crate::ledger::maintenance::count;
use crate::ledger::row::get;
use crate::ledger::transition::{execute, in_transaction, query};
use crate::{Sqlite, sql};

impl ReplayStore for Sqlite {
    fn hold_replay(
        &self,
        relay: RelayName,
        holder: Arc<str>,
        lease_for: Duration,
    ) -> BoxFuture<'_, Result<Option<EventReplay>>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(async move {
            // Most of the time there is none, and looking for one takes no turn of the writer.
            let reader = self.events_reader()?;
            let looked = relay.clone();
            let running = reader.call(move |connection| unfinished(connection, &looked)).await?;
            if running == 0 {
                return Ok(None);
            }
            let held = self.inner.writer.call(move |connection| {
                in_transaction(connection, &clock, |connection, now| {
                    let until = time(now.plus(lease_for));
                    let cells = [text(relay.as_str()), text(&holder), until, time(now)];
                    Ok(query(connection, &sql::HOLD_REPLAY, cells, replay)?.pop())
                })
            });
            held.await
        })
    }

    fn replay_page(&self, replay: EventReplay, limit: usize) -> BoxFuture<'_, Result<ReplayPage>> {
        Box::pin(async move {
            let reader = self.events_reader()?;
            reader.call(move |connection| page(connection, &replay, limit)).await
        })
    }

    fn settle_replay(
        &self,
        replay: EventReplay,
        page: ReplayedPage,
        lease_for: Duration,
    ) -> BoxFuture<'_, Result<Option<EventReplay>>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| {
                let after = replay.after(page, now);
                let cells = settled_cells(&after, now.plus(lease_for))?;
                Ok((execute(connection, &sql::SETTLE_REPLAY, cells)? > 0).then_some(after))
            })
        }))
    }
}

impl ReplayOperate for Sqlite {
    fn count_replay(&self, spec: ReplaySpec, limit: u64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            let reader = self.events_reader()?;
            let known = spec.clone();
            let (mut after, last) = reader
                .call(move |connection| {
                    served(connection, &known.relay)?;
                    span(connection)
                })
                .await?;
            let mut events = 0;
            while after < last && events < limit {
                let until = last.min(after.saturating_add(EventReplay::PLACES_MAX));
                let (spec, from) = (spec.clone(), after);
                events += reader.call(move |connection| matching(connection, &spec, (from, until))).await?;
                after = until;
            }
            Ok(events.min(limit))
        })
    }

    fn request_replay(&self, request: ReplayRequest) -> BoxFuture<'_, Result<EventReplay>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| ask(connection, request, now))
        }))
    }

    fn replays(&self, filter: ReplayListFilter, limit: usize) -> BoxFuture<'_, Result<Vec<EventReplay>>> {
        Box::pin(self.inner.reader.call(move |connection| {
            let cells = [
                opt_text(filter.tenant.as_ref().map(Tenant::as_str)),
                opt_text(filter.relay.as_ref().map(RelayName::as_str)),
                opt_text(filter.id.as_ref().map(ReplayId::as_str)),
                count(limit),
            ];
            query(connection, &sql::REPLAYS, cells, replay)
        }))
    }

    fn cancel_replay(&self, cancel: ReplayCancel) -> BoxFuture<'_, Result<EventReplay>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| end(connection, &cancel, now))
        }))
    }
}

/// Refused where no relay of this name is served.
fn served(connection: &Connection, relay: &RelayName) -> Result<()> {
    let retired =
        query(connection, &sql::FIND_RELAY, [text(relay.as_str())], |found| get::<Option<i64>>(found, "retired_at"))?;
    match retired.first() {
        Some(None) => Ok(()),
        Some(Some(_)) => Err(lanes::not_found(relay).hint("it was retired: declare it again")),
        None => Err(lanes::not_found(relay)),
    }
}

fn unfinished(connection: &Connection, relay: &RelayName) -> Result<u64> {
    let counted = query(connection, &sql::COUNT_REPLAYS, [text(relay.as_str())], |found| row::number(found, "replays"));
    Ok(counted?.first().copied().unwrap_or(0))
}

/// The place before the first event, and the last place.
fn span(connection: &Connection) -> Result<(i64, i64)> {
    let found = query(connection, &sql::EVENT_SPAN, [], |found| Ok((get(found, "before")?, get(found, "last")?)))?;
    Ok(found.first().copied().unwrap_or((0, 0)))
}

fn ask(connection: &Connection, request: ReplayRequest, now: Timestamp) -> Result<EventReplay> {
    let relay = request.spec.relay.clone();
    served(connection, &relay)?;
    let waiting = unfinished(connection, &relay)?;
    if waiting >= u64::try_from(ReplaySpec::UNFINISHED_MAX).unwrap_or(u64::MAX) {
        return Err(Error::new(LIMIT_EXCEEDED, format!("relay {relay} has {waiting} unfinished replays"))
            .hint("wait for them, or cancel some: onefold outbox replays"));
    }
    let asked = EventReplay::asked(request, span(connection)?, now);
    execute(connection, &sql::ADD_REPLAY, cells(&asked)?)?;
    audit(connection, &asked, ("replay", &asked.who, &asked.why), now)?;
    Ok(asked)
}

fn end(connection: &Connection, cancel: &ReplayCancel, now: Timestamp) -> Result<EventReplay> {
    let key = [text(cancel.id.as_str()), text(cancel.tenant.as_str())];
    let found = query(connection, &sql::FIND_REPLAY, key, replay)?.pop();
    let ended = found
        .ok_or_else(|| Error::new(REPLAY_NOT_FOUND, format!("there is no replay {}", cancel.id)))?
        .cancelled(now)?;
    let cells = [text(ended.id.as_str()), text(ended.state.as_str()), time(now), number(ended.fence)];
    execute(connection, &sql::CANCEL_REPLAY, cells)?;
    audit(connection, &ended, ("cancel-replay", &cancel.who, &cancel.why), now)?;
    Ok(ended)
}

fn audit(
    connection: &Connection,
    replay: &EventReplay,
    (verb, who, why): (&str, &str, &str),
    now: Timestamp,
) -> Result<()> {
    let cells =
        [time(now), text(replay.spec.relay.as_str()), text(replay.id.as_str()), text(verb), text(who), text(why)];
    execute(connection, &sql::AUDIT_REPLAY, cells).map(drop)
}

fn page(connection: &Connection, replay: &EventReplay, limit: usize) -> Result<ReplayPage> {
    let (_, until) = replay.places();
    let mut cells = filter_cells(&replay.spec, replay.places());
    cells.push(count(limit));
    let events: Vec<Arc<StoredEvent>> =
        query(connection, &sql::REPLAY_EVENTS, cells, |found| row::event(found).map(Arc::new))?;
    let looked_to = match events.last() {
        Some(last) if events.len() >= limit => last.seq,
        Some(_) | None => until,
    };
    Ok(ReplayPage { events, looked_to })
}

fn matching(connection: &Connection, spec: &ReplaySpec, places: (i64, i64)) -> Result<u64> {
    let cells: Vec<Cell<'_>> = filter_cells(spec, places);
    let counted = query(connection, &sql::COUNT_REPLAY, cells, |found| row::number(found, "events"))?;
    Ok(counted.first().copied().unwrap_or(0))
}
