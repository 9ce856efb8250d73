//! Retention: what every relay has passed goes, in slices.

use onefold_core::row::{Cell, time};
use onefold_core::{Result, Timestamp};
use rusqlite::Connection;

use crate::ledger::maintenance::count;
use crate::ledger::row::get;
use crate::ledger::transition::{execute, query};
use crate::sql;

/// Deletes the oldest events that may go; how many went.
pub(super) fn prune(connection: &Connection, before: Timestamp, limit: usize) -> Result<usize> {
    let gone: Vec<i64> = query(connection, &sql::PRUNABLE, [time(before), count(limit)], |found| get(found, "seq"))?;
    for seq in &gone {
        execute(connection, &sql::DELETE_EVENTS, [Cell::Int(*seq)])?;
        execute(connection, &sql::DELETE_ASIDES, [Cell::Int(*seq)])?;
    }
    if !gone.is_empty() {
        execute(connection, &sql::DELETE_PAGES, [time(before)])?;
    }
    Ok(gone.len())
}
