//! What people ask of the outbox.

use std::sync::Arc;

use onefold_core::event::EventId;
use onefold_core::incident::IncidentChange;
use onefold_core::outbox::{AsideEvent, AsideStatus, Begin, EventPatterns, RelayName};
use onefold_core::port::{
    AsideDecision, AsideFilter, BoxFuture, EventWithAsides, OutboxOperate, RecentPublications, RelayState, RelayVerb,
    SubjectChange,
};
use onefold_core::row::{Cell, opt_text, text, time};
use onefold_core::{Result, Timestamp};
use rusqlite::{Connection, Row};

use super::{asides, lanes, prune, row};
use crate::ledger::row::{get, time as stored_time};
use crate::ledger::transition::{execute, in_transaction, query};
use crate::{Sqlite, incidents, sql};

impl OutboxOperate for Sqlite {
    fn relays(&self) -> BoxFuture<'_, Result<(Timestamp, Vec<RelayState>)>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(async move {
            let reader = self.events_reader()?;
            reader
                .call(move |connection| {
                    let now = clock.now();
                    Ok((now, relays(connection, now)?))
                })
                .await
        })
    }

    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<EventWithAsides>>> {
        Box::pin(self.inner.reader.call(move |connection| {
            let Some(event) = asides::find(connection, id)? else { return Ok(None) };
            Ok(Some((event, asides::of_event(connection, id)?)))
        }))
    }

    fn asides(&self, filter: AsideFilter, limit: usize) -> BoxFuture<'_, Result<Vec<AsideEvent>>> {
        Box::pin(self.inner.reader.call(move |connection| asides::open(connection, &filter, limit)))
    }

    fn published(&self, id: EventId, relay: Option<RelayName>) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.inner.reader.call(move |connection| {
            let cells = [row::blob(id.as_bytes()), opt_text(relay.as_ref().map(RelayName::as_str))];
            let left = query(connection, &sql::UNPUBLISHED, cells, |_| Ok(()))?;
            Ok(left.is_empty())
        }))
    }

    fn decide(&self, decision: AsideDecision) -> BoxFuture<'_, Result<Vec<AsideEvent>>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| {
                let decided = asides::decide(connection, &decision, now)?;
                for (before, aside) in &decided {
                    if *before == AsideStatus::Parked {
                        incidents::apply(connection, aside.incident_closed(&decision.who, now))?;
                    }
                }
                Ok(decided.into_iter().map(|(_, aside)| aside).collect())
            })
        }))
    }

    fn start(&self, verb: RelayVerb) -> BoxFuture<'_, Result<usize>> {
        self.carry_out("start", verb, |connection, verb, now| {
            let started = execute(connection, &sql::START_LANES, [text(verb.relay.as_str())])?;
            let change = IncidentChange::close_by_operator(&verb.who, now);
            incidents::apply(connection, SubjectChange::of_relay(&verb.relay, change))?;
            Ok(started)
        })
    }

    fn retire(&self, verb: RelayVerb) -> BoxFuture<'_, Result<()>> {
        self.carry_out("retire", verb, |connection, verb, now| {
            execute(connection, &sql::RETIRE_RELAY, [text(verb.relay.as_str()), time(now)]).map(drop)
        })
    }

    fn rebase(&self, verb: RelayVerb, begin: Begin) -> BoxFuture<'_, Result<()>> {
        self.carry_out("rebase", verb, move |connection, verb, _| lanes::place(connection, &verb.relay, begin))
    }

    fn prune_events(&self, before: Timestamp, limit: usize) -> BoxFuture<'_, Result<usize>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, _| prune::prune(connection, before, limit))
        }))
    }
}

impl Sqlite {
    /// Does what a person decided about a relay, and writes down who and why, in one commit.
    fn carry_out<T: Send + 'static>(
        &self,
        name: &'static str,
        verb: RelayVerb,
        work: impl FnOnce(&Connection, &RelayVerb, Timestamp) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| {
                lanes::patterns(connection, &verb.relay)?.ok_or_else(|| lanes::not_found(&verb.relay))?;
                let done = work(connection, &verb, now)?;
                let relay = text(verb.relay.as_str());
                let cells = [time(now), relay, Cell::Null, text(name), text(&verb.who), text(&verb.why), Cell::Null];
                execute(connection, &sql::ADD_AUDIT, cells)?;
                Ok(done)
            })
        }))
    }
}

fn relays(connection: &Connection, now: Timestamp) -> Result<Vec<RelayState>> {
    let since = now.minus(RecentPublications::LOOK_BACK);
    let mut relays = query(connection, &sql::RELAYS, [], relay)?;
    for relay in &mut relays {
        let name = text(relay.name.as_str()).clone();
        let waiting = query(connection, &sql::WAITING, [name.clone()], |found| {
            Ok((row::event_type(found)?, row::number(found, "waiting")?, stored_time(found, "oldest")?))
        })?;
        for (event_type, count, oldest) in waiting {
            if relay.events.matches(&event_type) {
                relay.waiting += count;
                relay.oldest = Some(relay.oldest.map_or(oldest, |known| known.min(oldest)));
            }
        }
        let recent = query(connection, &sql::RECENT, [name.clone(), Cell::Int(since.as_micros())], |found| {
            Ok(RecentPublications { passed: row::number(found, "passed")?, on_time: row::number(found, "on_time")? })
        })?;
        relay.recent = recent.first().copied().unwrap_or_default();
        relay.stopped = query(connection, &sql::STOPPED, [name], |found| row::code(found, "stopped_code"))?
            .into_iter()
            .flatten()
            .next();
        (relay.parked, relay.set_aside) = lanes::count_aside(connection, &relay.name)?;
    }
    Ok(relays)
}

fn relay(found: &Row<'_>) -> Result<RelayState> {
    let events: EventPatterns = row::read_json("events", &get::<String>(found, "events")?)?;
    Ok(RelayState {
        name: RelayName::parse(&get::<String>(found, "name")?)?,
        events,
        target: get(found, "target")?,
        declared_by: Arc::from(get::<String>(found, "declared_by")?),
        declared_at: stored_time(found, "declared_at")?,
        retired_at: get::<Option<i64>>(found, "retired_at")?.map(Timestamp::from_micros),
        waiting: 0,
        oldest: None,
        parked: 0,
        set_aside: 0,
        stopped: None,
        recent: RecentPublications::default(),
    })
}
