//! Rows of replays.

use std::sync::Arc;

use onefold_core::event::{AggregateType, EventType, ReplayId};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{EventReplay, RelayName, ReplayFilter, ReplaySpec, ReplayState};
use onefold_core::row::{Cell, opt_text, opt_time, text, time};
use onefold_core::{Result, Timestamp};
use rusqlite::Row;

use super::row;
use crate::ledger::row::{get, time as stored_time};

/// The cells of a replay.
pub(super) fn cells(replay: &EventReplay) -> Result<Vec<Cell<'_>>> {
    let mut cells = vec![text(replay.id.as_str()), text(replay.spec.relay.as_str())];
    cells.extend(narrowing(&replay.spec.filter));
    cells.extend([
        number(replay.spec.events_max),
        Cell::Int(i64::from(replay.spec.rate)),
        text(&replay.who),
        text(&replay.why),
        time(replay.requested_at),
        text(replay.state.as_str()),
        Cell::Int(replay.pos),
        Cell::Int(replay.last),
        number(replay.published),
        number(replay.refused),
        Cell::Text(row::json(&replay.refusals)?.into()),
        opt_time(replay.ended_at),
        number(replay.fence),
    ]);
    Ok(cells)
}

/// The cells of what a replay sends, between two places.
pub(super) fn filter_cells(spec: &ReplaySpec, (after, until): (i64, i64)) -> Vec<Cell<'_>> {
    let mut cells = vec![text(spec.relay.as_str()), Cell::Int(after), Cell::Int(until)];
    cells.extend(narrowing(&spec.filter));
    cells
}

fn narrowing(filter: &ReplayFilter) -> [Cell<'_>; 6] {
    let aggregate = filter.aggregate.as_ref();
    [
        text(filter.tenant.as_str()),
        opt_text(filter.event_type.as_ref().map(EventType::as_str)),
        opt_time(filter.from),
        opt_time(filter.to),
        opt_text(aggregate.map(|(sort, _)| sort.as_str())),
        opt_text(aggregate.map(|(_, id)| id)),
    ]
}

/// The cells of what a page changed.
pub(super) fn settled_cells(replay: &EventReplay, lease_until: Timestamp) -> Result<Vec<Cell<'_>>> {
    Ok(vec![
        text(replay.id.as_str()),
        number(replay.fence),
        text(replay.state.as_str()),
        Cell::Int(replay.pos),
        number(replay.published),
        number(replay.refused),
        Cell::Text(row::json(&replay.refusals)?.into()),
        opt_time(replay.ended_at),
        time(lease_until),
    ])
}

/// The replay of a row.
pub(super) fn replay(found: &Row<'_>) -> Result<EventReplay> {
    let opt = |column: &str| get::<Option<String>>(found, column);
    let at =
        |column: &str| Ok::<_, onefold_core::Error>(get::<Option<i64>>(found, column)?.map(Timestamp::from_micros));
    let aggregate_type = opt("aggregate_type")?.map(|name| AggregateType::parse(&name)).transpose()?;
    let filter = ReplayFilter {
        tenant: Tenant::parse(&get::<String>(found, "tenant")?)?,
        event_type: opt("event_type")?.map(|name| EventType::parse(&name)).transpose()?,
        from: at("staged_from")?,
        to: at("staged_to")?,
        aggregate: aggregate_type.zip(opt("aggregate_id")?.map(Arc::from)),
    };
    let state: String = get(found, "state")?;
    Ok(EventReplay {
        id: ReplayId::parse(&get::<String>(found, "id")?)?,
        spec: ReplaySpec {
            relay: RelayName::parse(&get::<String>(found, "relay")?)?,
            filter,
            events_max: row::number(found, "events_max")?,
            rate: get(found, "rate")?,
        },
        who: Arc::from(get::<String>(found, "who")?),
        why: Arc::from(get::<String>(found, "why")?),
        requested_at: stored_time(found, "requested_at")?,
        state: ReplayState::parse(&state).ok_or_else(|| row::unreadable("state"))?,
        pos: get(found, "pos")?,
        last: get(found, "last")?,
        published: row::number(found, "published")?,
        refused: row::number(found, "refused")?,
        refusals: row::read_json("refusals", &get::<String>(found, "refusals")?)?,
        ended_at: at("ended_at")?,
        fence: row::number(found, "fence")?,
    })
}

/// A fence or a count.
pub(super) fn number(value: u64) -> Cell<'static> {
    Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
}
