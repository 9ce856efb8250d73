//! Who serves a relay, and where it is.

use onefold_core::error::{DECLARATION_INVALID, RELAY_NOT_FOUND};
use onefold_core::outbox::{Begin, EventPatterns, RelayName, RelaySpec};
use onefold_core::port::{HeldLanes, LaneRequest};
use onefold_core::row::{Cell, text, time};
use onefold_core::{Error, Result, Timestamp};
use rusqlite::Connection;

use super::row;
use crate::ledger::row::get;
use crate::ledger::transition::{execute, query};
use crate::sql;

/// Writes what a process declares; a new relay gets its place.
pub(super) fn declare(connection: &Connection, relays: &[RelaySpec], by: &str, now: Timestamp) -> Result<()> {
    for spec in relays {
        spec.check()?;
        let name = spec.name.as_str();
        let known = patterns(connection, &spec.name)?;
        if known.is_none() {
            let others = query(connection, &sql::RELAYS, [], |_| Ok(()))?.len();
            if others >= RelaySpec::RELAYS_MAX {
                return Err(Error::new(DECLARATION_INVALID, format!("there are {others} relays already"))
                    .hint("retire those that nobody serves: onefold outbox retire RELAY"));
            }
        }
        match &known {
            Some(known) if *known != spec.events => {
                tracing::info!(relay = name, from = %known, to = %spec.events, "a relay wants other events from here on");
            }
            Some(_) => {}
            None => place(connection, &spec.name, spec.begin)?,
        }
        let cells = [text(name), Cell::Text(row::json(&spec.events)?.into()), text(&spec.target), text(by), time(now)];
        execute(connection, &sql::PUT_RELAY, cells)?;
    }
    Ok(())
}

/// Gives a relay its place, or a new one.
pub(super) fn place(connection: &Connection, relay: &RelayName, begin: Begin) -> Result<()> {
    let since = match begin {
        Begin::Now => last_seq(connection)?,
        Begin::Oldest => 0,
        Begin::At(at) => seq_of(connection, &sql::SEQ_BEFORE, [time(at)])?,
    };
    execute(connection, &sql::PUT_LANE, [text(relay.as_str()), Cell::Int(since)]).map(drop)
}

/// The number of the last event.
pub(super) fn last_seq(connection: &Connection) -> Result<i64> {
    seq_of(connection, &sql::LAST_SEQ, [])
}

fn seq_of<const N: usize>(connection: &Connection, sql: &str, cells: [Cell<'_>; N]) -> Result<i64> {
    Ok(query(connection, sql, cells, |found| get(found, "seq"))?.first().copied().unwrap_or(0))
}

/// What a relay wants, as it was last declared.
pub(super) fn patterns(connection: &Connection, relay: &RelayName) -> Result<Option<EventPatterns>> {
    let found = query(connection, &sql::FIND_RELAY, [text(relay.as_str())], |found| {
        row::read_json("events", &get::<String>(found, "events")?)
    })?;
    Ok(found.into_iter().next())
}

/// Renews the lane, or takes it where it is free.
pub(super) fn hold(connection: &Connection, request: &LaneRequest, now: Timestamp) -> Result<HeldLanes> {
    let relay = text(request.relay.as_str());
    let events = patterns(connection, &request.relay)?.ok_or_else(|| not_found(&request.relay))?;
    let retired =
        query(connection, &sql::FIND_RELAY, [relay.clone()], |found| get::<Option<i64>>(found, "retired_at"))?;
    if retired.into_iter().flatten().next().is_some() {
        return Err(not_found(&request.relay).hint("it was retired: declare it again, and it goes on from its place"));
    }
    if !request.give_back.is_empty() {
        execute(connection, &sql::LEAVE_LANES, [relay.clone(), text(&request.holder)])?;
    }
    let lease_until = now.plus(request.lease_for);
    let cells = [relay.clone(), text(&request.holder), time(lease_until), time(now)];
    let cursors = if request.give_back.is_empty() {
        query(connection, &sql::HOLD_LANES, cells, row::cursor)?
    } else {
        Vec::new()
    };
    let blocked =
        query(connection, &sql::BLOCKED, [relay.clone()], |found| Ok((get(found, "lane")?, row::aggregate(found)?)))?;
    let (parked, waiting) = count_aside(connection, &request.relay)?;
    let set_aside = usize::try_from(parked + waiting).unwrap_or(usize::MAX);
    Ok(HeldLanes { cursors, lease_until, now, events, surplus: Vec::new(), blocked, set_aside })
}

/// Events that are parked, and those that are tried again or wait behind one.
pub(super) fn count_aside(connection: &Connection, relay: &RelayName) -> Result<(u64, u64)> {
    let counts = query(connection, &sql::COUNT_ASIDE, [text(relay.as_str())], |found| {
        Ok((row::number(found, "parked")?, row::number(found, "waiting")?))
    })?;
    Ok(counts.first().copied().unwrap_or((0, 0)))
}

/// There is no such relay.
pub(super) fn not_found(relay: &RelayName) -> Error {
    Error::new(RELAY_NOT_FOUND, format!("no relay is called {:?}", relay.as_str()))
}
