//! Reading what lies beyond a cursor, on a connection of its own: look-ups do not wait for a relay.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{EventPatterns, EventPlace, Horizon, LaneCursor};
use onefold_core::port::{LanePoll, Poll, PollSize};
use onefold_core::row::Cell;
use rusqlite::Connection;

use super::{LANE, lanes, row};
use crate::error::translate;
use crate::ledger::row::get;
use crate::ledger::transition::query;
use crate::sql;

/// What lies beyond the cursor of the lane.
pub(super) fn poll(
    connection: &Connection,
    events: &EventPatterns,
    cursors: &[LaneCursor],
    size: PollSize,
) -> Result<Poll> {
    // The highest number that this reading sees; what is committed during it belongs to the next one.
    let last = lanes::last_seq(connection)?;
    let mut polled = Poll { seen: Horizon::Seq(last), lanes: Vec::new(), truncated: false };
    for cursor in cursors {
        let seen = seq(&cursor.since).max(last);
        polled.seen = Horizon::Seq(seen);
        let until = cursor.until.as_ref().map_or(seen, seq);
        let from = seq(&cursor.since).max(cursor.pos);
        let (lane, truncated) = read(connection, events, (from, until), size)?;
        polled.truncated |= truncated;
        polled.lanes.push(LanePoll { lane: cursor.lane, ..lane });
    }
    Ok(polled)
}

/// Reads until there are more wanted events than the size allows. What nobody wants is only counted, however much it is.
fn read(
    connection: &Connection,
    events: &EventPatterns,
    (from, until): (i64, i64),
    size: PollSize,
) -> Result<(LanePoll, bool)> {
    let (limit, whole) = match size {
        PollSize::Events(limit) => (limit, true),
        PollSize::Places(limit) => (limit, false),
    };
    let mut lane = LanePoll { lane: LANE, events: Vec::new(), places: Vec::new(), unwanted: 0 };
    let mut statement = connection.prepare_cached(&sql::EVENTS_BETWEEN).map_err(translate)?;
    let mut rows = statement.query((from, until)).map_err(translate)?;
    while let Some(found) = rows.next().map_err(translate)? {
        if !events.matches(&row::event_type(found)?) {
            lane.unwanted += 1;
            continue;
        }
        if lane.events.len() + lane.places.len() == limit {
            return Ok((lane, true));
        }
        let place = EventPlace { seq: get(found, "seq")?, txid: 0 };
        if whole {
            lane.events.push((place, Arc::new(row::event(found)?)));
        } else {
            lane.places.push(place);
        }
    }
    Ok((lane, false))
}

/// The events at these places.
pub(super) fn events_at(connection: &Connection, places: &[EventPlace]) -> Result<Vec<Arc<StoredEvent>>> {
    let mut events = Vec::with_capacity(places.len());
    for place in places {
        let found = query(connection, &sql::EVENT_AT, [Cell::Int(place.seq)], row::event)?;
        events.extend(found.into_iter().map(Arc::new));
    }
    Ok(events)
}

/// The number that a horizon of this store is.
pub(super) fn seq(horizon: &Horizon) -> i64 {
    match horizon {
        Horizon::Seq(seq) => *seq,
        // Only the other store writes those.
        Horizon::Snapshot(_) => 0,
    }
}
