//! Events that were set aside: whose turn it is, and what a person decided.

use std::sync::Arc;

use onefold_core::error::{EVENT_MOVED_ON, EVENT_NOT_FOUND};
use onefold_core::event::{EventId, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{AsideEvent, AsideStatus, AsideVerb, PayloadEdit, RelayName};
use onefold_core::port::{AsideDecision, AsideFilter, AsideWithEvent};
use onefold_core::row::{Cell, opt_text, text, time};
use onefold_core::{Error, Result, Timestamp};
use rusqlite::Connection;

use super::row;
use crate::ledger::maintenance::count;
use crate::ledger::transition::{execute, query};
use crate::sql;

/// Those whose turn it is, each followed by what waits behind it.
pub(super) fn due(
    connection: &Connection,
    relay: &RelayName,
    lanes: &[u16],
    limit: usize,
    now: Timestamp,
) -> Result<Vec<AsideWithEvent>> {
    let mut due = Vec::new();
    for lane in lanes {
        let cells = [text(relay.as_str()), Cell::Int(i64::from(*lane)), time(now), count(limit)];
        for aside in query(connection, &sql::ASIDES_DUE, cells, row::aside)? {
            if let Some(stored) = find(connection, aside.id)? {
                let stored = Arc::new(edited(stored, aside.edit.as_ref()));
                due.push((aside, stored));
            }
        }
    }
    Ok(due)
}

/// Marks events as sent under the lanes' leases, and leaves out those that moved on since they were looked for.
pub(super) fn sending(
    connection: &Connection,
    relay: &RelayName,
    lanes: &[u16],
    due: Vec<AsideWithEvent>,
) -> Result<Vec<AsideWithEvent>> {
    let mut sending = Vec::with_capacity(due.len());
    for (aside, stored) in due.into_iter().filter(|(aside, _)| lanes.contains(&aside.lane)) {
        let cells = [
            text(relay.as_str()),
            row::blob(aside.id.as_bytes()),
            text(aside.status.as_str()),
            Cell::Int(i64::from(aside.attempts)),
        ];
        if execute(connection, &sql::SEND_ASIDE, cells)? > 0 {
            sending.push((aside, stored));
        }
    }
    Ok(sending)
}

fn edited(mut stored: StoredEvent, edit: Option<&PayloadEdit>) -> StoredEvent {
    if let Some(edit) = edit {
        stored.event.payload = edit.payload.clone();
        stored.event.content_type = Arc::clone(&edit.content_type);
    }
    stored
}

/// An event by its id.
pub(super) fn find(connection: &Connection, id: EventId) -> Result<Option<StoredEvent>> {
    Ok(query(connection, &sql::FIND_EVENT, [row::blob(id.as_bytes())], row::event)?.pop())
}

/// What each relay that has set an event aside says about it.
pub(super) fn of_event(connection: &Connection, id: EventId) -> Result<Vec<AsideEvent>> {
    query(connection, &sql::ASIDES_OF, [row::blob(id.as_bytes())], row::aside)
}

/// Those that have not ended, oldest first.
pub(super) fn open(connection: &Connection, filter: &AsideFilter, limit: usize) -> Result<Vec<AsideEvent>> {
    let relay = filter.relay.as_ref().map(RelayName::as_str);
    let tenant = filter.tenant.as_ref().map(Tenant::as_str);
    let cells = [opt_text(relay), opt_text(tenant), count(limit)];
    query(connection, &sql::OPEN_ASIDES, cells, row::aside)
}

/// Writes what a person decided; what the event is then, relay by relay, and what it was.
pub(super) fn decide(
    connection: &Connection,
    decision: &AsideDecision,
    now: Timestamp,
) -> Result<Vec<(AsideStatus, AsideEvent)>> {
    let known = find(connection, decision.id)?;
    let asides = of_event(connection, decision.id)?;
    let asked: Vec<AsideEvent> =
        asides.into_iter().filter(|aside| decision.relay.as_ref().is_none_or(|relay| *relay == aside.relay)).collect();
    let open: Vec<AsideEvent> = asked.iter().filter(|aside| !aside.status.ended()).cloned().collect();
    if open.is_empty() {
        // One that ended says so itself; one that was never set aside has nothing to decide.
        let ended = asked.into_iter().next().map(|aside| aside.decided(&decision.verb, now));
        return Err(match (known, ended) {
            (None, _) => Error::new(EVENT_NOT_FOUND, format!("there is no event {}", decision.id)),
            (Some(_), Some(Err(ended))) => ended,
            (Some(_), Some(Ok(_)) | None) => {
                Error::new(EVENT_MOVED_ON, format!("event {} is not set aside", decision.id))
            }
        });
    }
    let mut decided = Vec::new();
    for aside in open {
        let before = aside.status;
        let aside = aside.decided(&decision.verb, now)?;
        execute(connection, &sql::PUT_ASIDE, row::aside_cells(&aside))?;
        audit(connection, decision, &aside, now)?;
        decided.push((before, aside));
    }
    Ok(decided)
}

fn audit(connection: &Connection, decision: &AsideDecision, aside: &AsideEvent, now: Timestamp) -> Result<()> {
    let (verb, old_digest) = match &decision.verb {
        AsideVerb::Release => ("release", Cell::Null),
        AsideVerb::Skip => ("skip", Cell::Null),
        AsideVerb::Edit(edit) => ("edit", row::blob(&edit.old_digest)),
    };
    let cells = [
        time(now),
        text(aside.relay.as_str()),
        row::blob(decision.id.as_bytes()),
        text(verb),
        text(&decision.who),
        text(&decision.why),
        old_digest,
    ];
    execute(connection, &sql::ADD_AUDIT, cells).map(drop)
}
