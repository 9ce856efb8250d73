//! Reading what lies beyond the cursors of many lanes, in one statement and one snapshot.

use std::sync::Arc;

use onefold_core::error::{DATABASE_RESTORED, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{EventPattern, EventPatterns, EventPlace, Horizon, LaneCursor, Snapshot};
use onefold_core::port::{LanePoll, Poll, PollSize};
use onefold_core::{Error, Result};
use sqlx::postgres::PgRow;

use super::lanes::{standby, unreadable_txid};
use super::row;
use crate::Postgres;
use crate::error::translate;
use crate::ledger::maintenance::count;
use crate::ledger::row::{Query, get, query};

impl Postgres {
    pub(super) async fn poll_lanes(
        &self,
        events: &EventPatterns,
        cursors: &[LaneCursor],
        size: PollSize,
    ) -> Result<Poll> {
        // One more event than may be, so that it is known whether there are more; places are counted.
        let (sql, limit) = match size {
            PollSize::Events(limit) => (&self.inner.sql.poll_events, limit.saturating_add(1)),
            PollSize::Places(limit) => (&self.inner.sql.poll_places, limit),
        };
        let asked = bind_patterns(bind_cursors(query(sql), cursors)?, events).bind(count(limit));
        let mut transaction = self.inner.connected.begin().await?;
        let rows = asked.fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.rollback().await.map_err(translate)?;
        let server = rows.iter().find(|found| matches!(get::<Option<&str>>(found, "seen"), Ok(Some(_))));
        let server = server.ok_or_else(|| unreadable("a poll did not say what it saw"))?;
        let seen = Horizon::Snapshot(seen_by(server, cursors)?);
        let mut lanes = lanes_of(cursors);
        for found in &rows {
            let Some(place) = get::<Option<i64>>(found, "place")? else { continue };
            let at = usize::try_from(place - 1).ok().filter(|at| *at < cursors.len());
            let at = at.ok_or_else(|| unreadable("a poll found an event of a lane that was not asked for"))?;
            match size {
                PollSize::Events(_) => add_event(found, &cursors[at], &seen, &mut lanes[at])?,
                PollSize::Places(_) => add_place(found, &cursors[at], &seen, &mut lanes[at])?,
            }
        }
        for lane in &mut lanes {
            lane.events.sort_unstable_by_key(|(place, _)| place.seq);
            lane.places.sort_unstable_by_key(|place| place.seq);
        }
        let truncated = match size {
            PollSize::Events(limit) => cut(&mut lanes, limit),
            PollSize::Places(limit) => get::<i64>(server, "wanted_in_all")? > count(limit),
        };
        Ok(Poll { seen, lanes, truncated })
    }

    pub(super) async fn read_events(&self, places: &[EventPlace]) -> Result<Vec<Arc<StoredEvent>>> {
        let seqs: Vec<i64> = places.iter().map(|place| place.seq).collect();
        let mut transaction = self.inner.connected.begin().await?;
        let rows = query(&self.inner.sql.events_at).bind(seqs).fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.rollback().await.map_err(translate)?;
        rows.iter().map(|found| row::event(found).map(Arc::new)).collect()
    }
}

/// Whether one was read to know that there are more; that one goes.
fn cut(lanes: &mut [LanePoll], limit: usize) -> bool {
    let read: usize = lanes.iter().map(|lane| lane.events.len() + lane.unwanted).sum();
    if read <= limit {
        return false;
    }
    let highest = |lane: &LanePoll| lane.events.last().map(|(place, _)| place.seq);
    if let Some(last) = lanes.iter_mut().max_by_key(|lane| highest(lane)) {
        last.events.pop();
    }
    true
}

/// A row of a whole event.
fn add_event(found: &PgRow, cursor: &LaneCursor, seen: &Horizon, lane: &mut LanePoll) -> Result<()> {
    let place = place(found)?;
    if !lies_beyond(cursor, seen, place) {
        return Ok(());
    }
    if get(found, "wanted")? {
        lane.events.push((place, Arc::new(row::event(found)?)));
    } else {
        lane.unwanted += 1;
    }
    Ok(())
}

/// A row of a place, or of the count of events that are not wanted.
fn add_place(found: &PgRow, cursor: &LaneCursor, seen: &Horizon, lane: &mut LanePoll) -> Result<()> {
    if let Some(unwanted) = get::<Option<i64>>(found, "unwanted")? {
        lane.unwanted = row::number("unwanted", unwanted)?;
        return Ok(());
    }
    let place = place(found)?;
    if lies_beyond(cursor, seen, place) {
        lane.places.push(place);
    }
    Ok(())
}

/// The rule decides, whatever the statement found: in a stored window what is left of it, else what is new.
fn lies_beyond(cursor: &LaneCursor, seen: &Horizon, place: EventPlace) -> bool {
    match cursor.window() {
        Some(window) => window.contains(place) && place.seq > cursor.pos,
        None => seen.sees(place) && !cursor.since.sees(place),
    }
}

/// What the statement saw; refused where the cursors mean nothing on this server.
fn seen_by(server: &PgRow, cursors: &[LaneCursor]) -> Result<Snapshot> {
    if get(server, "in_recovery")? {
        return Err(standby());
    }
    let seen = Snapshot::parse(get(server, "seen")?)?;
    let restored = |detail| {
        Error::new(DATABASE_RESTORED, detail)
            .hint("decide what was published since then, and run onefold outbox rebase RELAY")
    };
    if get(server, "restored")? {
        return Err(restored("an event was written by a transaction that this database has not begun yet"));
    }
    let ends = cursors.iter().flat_map(|cursor| std::iter::once(&cursor.since).chain(&cursor.until));
    for end in ends {
        if matches!(end, Horizon::Snapshot(end) if end.xmax() > seen.xmax()) {
            return Err(restored("a relay has seen transactions that this database has not begun yet"));
        }
    }
    Ok(seen)
}

fn lanes_of(cursors: &[LaneCursor]) -> Vec<LanePoll> {
    let empty =
        |cursor: &LaneCursor| LanePoll { lane: cursor.lane, events: Vec::new(), places: Vec::new(), unwanted: 0 };
    cursors.iter().map(empty).collect()
}

fn place(found: &PgRow) -> Result<EventPlace> {
    let txid = get::<&str>(found, "txid")?.parse().map_err(|_| unreadable_txid())?;
    Ok(EventPlace { seq: get(found, "seq")?, txid })
}

fn bind_cursors(query: Query, cursors: &[LaneCursor]) -> Result<Query> {
    let lanes: Vec<i16> = cursors.iter().map(|cursor| row::bound(cursor.lane)).collect();
    let since = cursors.iter().map(|cursor| row::snapshot_text(&cursor.since)).collect::<Result<Vec<_>>>()?;
    let until = cursors.iter().map(|cursor| cursor.until.as_ref().map(row::snapshot_text).transpose());
    let until = until.collect::<Result<Vec<_>>>()?;
    let pos: Vec<i64> = cursors.iter().map(|cursor| cursor.pos).collect();
    Ok(query.bind(lanes).bind(since).bind(until).bind(pos))
}

/// Types, and what types begin with; every type begins with nothing.
fn bind_patterns(query: Query, events: &EventPatterns) -> Query {
    let (mut types, mut prefixes) = (Vec::new(), Vec::new());
    for pattern in events.iter() {
        match pattern {
            EventPattern::All => prefixes.push(String::new()),
            EventPattern::Below(prefix) => prefixes.push(format!("{prefix}.")),
            EventPattern::One(name) => types.push(name.to_string()),
        }
    }
    query.bind(types).bind(prefixes)
}

fn unreadable(detail: &str) -> Error {
    Error::new(PROGRAMMING_INVARIANT_VIOLATED, detail)
}
