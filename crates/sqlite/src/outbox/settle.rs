//! Moving cursors and settling pages, under the fence.

use onefold_core::Result;
use onefold_core::Timestamp;
use onefold_core::error::Code;
use onefold_core::outbox::{CursorStep, LaneCursor, PageSettlement, RelayName, WindowEnd};
use onefold_core::port::SubjectChange;
use onefold_core::row::{Cell, opt_text, text, time};
use rusqlite::Connection;

use super::{poll, row};
use crate::incidents;
use crate::ledger::row::get;
use crate::ledger::transition::{execute, query};
use crate::sql;

/// Moves cursors; the lanes that moved.
pub(super) fn move_cursors(
    connection: &Connection,
    relay: &RelayName,
    steps: Vec<(LaneCursor, CursorStep)>,
) -> Result<Vec<u16>> {
    let mut moved = Vec::new();
    for (cursor, step) in steps {
        let after = cursor.after(&step);
        let cells = [
            text(relay.as_str()),
            Cell::Int(i64::from(after.lane)),
            number(after.fence),
            Cell::Int(poll::seq(&after.since)),
            after.until.as_ref().map_or(Cell::Null, |until| Cell::Int(poll::seq(until))),
            Cell::Int(after.pos),
        ];
        if execute(connection, &sql::MOVE_CURSOR, cells)? > 0 {
            moved.push(after.lane);
        }
    }
    Ok(moved)
}

/// Writes what pages changed; the lanes that moved.
pub(super) fn settle(
    connection: &Connection,
    relay: &RelayName,
    pages: &[PageSettlement],
    incidents: Vec<SubjectChange>,
    now: Timestamp,
) -> Result<Vec<u16>> {
    let mut moved = Vec::new();
    for page in pages {
        if settle_page(connection, relay, page, now)? {
            moved.push(page.lane);
        }
    }
    // Incidents are about events of these pages: with another holder there is nothing to tell.
    if !moved.is_empty() {
        incidents.into_iter().try_for_each(|change| incidents::apply(connection, change))?;
    }
    Ok(moved)
}

fn settle_page(connection: &Connection, relay: &RelayName, page: &PageSettlement, now: Timestamp) -> Result<bool> {
    let name = text(relay.as_str());
    let lane = Cell::Int(i64::from(page.lane));
    let passed = query(connection, &sql::LANE_PASSED, [name.clone(), lane.clone()], |found| {
        Ok((get::<i64>(found, "seq")?, row::number(found, "fence")?))
    })?;
    let Some((before, _)) = passed.into_iter().find(|(_, fence)| *fence == page.fence) else { return Ok(false) };
    let reached = page.window == WindowEnd::Reached;
    let cells = [
        name.clone(),
        lane.clone(),
        number(page.fence),
        page.pos.map_or(Cell::Null, Cell::Int),
        Cell::Int(i64::from(reached)),
        number(page.health.judged),
        Cell::Text(row::json(&page.health.refused)?.into()),
        opt_text(page.stopped.map(Code::as_str)),
        time(now),
    ];
    execute(connection, &sql::SETTLE_LANE, cells)?;
    if let Some(pos) = page.pos {
        let counts = [page.passed, page.on_time].map(|count| number(u64::try_from(count).unwrap_or(u64::MAX)));
        let place = [name, lane, Cell::Int(before + 1), Cell::Int(pos), time(now)];
        execute(connection, &sql::ADD_PAGE, place.into_iter().chain(counts))?;
    }
    for aside in &page.asides {
        execute(connection, &sql::PUT_ASIDE, row::aside_cells(aside))?;
    }
    Ok(true)
}

fn number(value: u64) -> Cell<'static> {
    Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
}
