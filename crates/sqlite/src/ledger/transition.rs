//! Carries transitions out, inside one transaction of the writer.

use onefold_core::incident::{Incident, Subject};
use onefold_core::ledger::{AttemptResult, Entry, Note, PastAttempt, Transition};
use onefold_core::operation::{OperationKey, Tenant};
use onefold_core::row::incident::IncidentRow;
use onefold_core::row::{Cell, attempt, key_cells, note, operation, text};
use onefold_core::{Result, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Statement, params_from_iter};

use crate::clock::StoreClock;
use crate::error::translate;
use crate::ledger::row::{self, Bound};
use crate::sql;

/// Runs `work` in one write transaction, at a time read after the write lock was got; a failure leaves nothing behind.
pub(crate) fn in_transaction<T>(
    connection: &Connection,
    clock: &StoreClock,
    work: impl FnOnce(&Connection, Timestamp) -> Result<T>,
) -> Result<T> {
    execute(connection, "BEGIN IMMEDIATE", [])?;
    let done = seen(connection).and_then(|seen| {
        clock.raise(seen);
        let now = clock.now();
        let done = work(connection, now)?;
        let raised = clock.to_store(now);
        if let Some(at) = raised {
            execute(connection, &sql::RAISE_CLOCK, [Cell::Int(at.as_micros())])?;
        }
        let began = clock.monotonic();
        execute(connection, "COMMIT", [])?;
        clock.committed(began);
        if let Some(at) = raised {
            clock.stored(at);
        }
        Ok(done)
    });
    if done.is_err() && !connection.is_autocommit() {
        // What failed is reported; a failing rollback leaves the same nothing.
        let _ = execute(connection, "ROLLBACK", []);
    }
    done
}

/// The highest time that anyone has written.
fn seen(connection: &Connection) -> Result<Timestamp> {
    let highest = query(connection, &sql::CLOCK, [], |row| row.get(0).map_err(translate))?;
    Ok(highest.first().copied().map_or_else(Timestamp::default, Timestamp::from_micros))
}

/// Runs one statement from the cache.
pub(crate) fn execute<'a>(
    connection: &Connection,
    sql: &str,
    cells: impl IntoIterator<Item = Cell<'a>>,
) -> Result<usize> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params_from_iter(cells.into_iter().map(Bound))))
        .map_err(translate)
}

/// The rows of one statement from the cache.
pub(crate) fn query<'a, T>(
    connection: &Connection,
    sql: &str,
    cells: impl IntoIterator<Item = Cell<'a>>,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(translate)?;
    let mut rows = statement.query(params_from_iter(cells.into_iter().map(Bound))).map_err(translate)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(translate)? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// The entry of one operation.
pub(crate) fn find(connection: &Connection, key: &OperationKey) -> Result<Option<Entry>> {
    let mut statement = connection.prepare_cached(&sql::FIND).map_err(translate)?;
    find_with(&mut statement, key)
}

/// The same, through a statement that is at hand.
pub(crate) fn find_with(statement: &mut Statement<'_>, key: &OperationKey) -> Result<Option<Entry>> {
    let read = statement.query_row(params_from_iter(key_cells(key).map(Bound)), |found| Ok(row::entry(found)));
    read.optional().map_err(translate)?.transpose()
}

/// One past attempt.
pub(crate) fn find_attempt(connection: &Connection, key: &OperationKey, fence: u64) -> Result<Option<PastAttempt>> {
    let [tenant, kind, id] = key_cells(key);
    let fence = Cell::Int(i64::try_from(fence).unwrap_or(i64::MAX));
    Ok(query(connection, &sql::FIND_ATTEMPT, [tenant, kind, id, fence], row::attempt)?.pop())
}

/// Writes what a decision about an existing operation changes; answers with the entry.
pub(crate) fn carry_out(connection: &Connection, mut transition: Transition) -> Result<Entry> {
    if transition.incident.is_some() {
        let Transition { entry, .. } = &transition;
        let open = find_open_incident(connection, &entry.key.tenant, &Subject::operation(&entry.key))?;
        if let Some(incident) = transition.settle_incident(open) {
            write_incident(connection, &incident)?;
        }
    }
    if let Some(past) = &transition.past {
        count_past(past);
        execute(connection, &sql::KEEP_ATTEMPT, attempt::cells(past))?;
    }
    for note in &transition.notes {
        add_note(connection, &transition.entry.key, note)?;
    }
    execute(connection, &sql::UPDATE, operation::updating_cells(&transition.entry))?;
    Ok(transition.entry)
}

/// Attempts that went silent, and those that spoke too late.
fn count_past(past: &PastAttempt) {
    let name = match past.ending {
        AttemptResult::Expired => "onefold_leases_expired_total",
        AttemptResult::Late => "onefold_late_records_total",
        AttemptResult::Recorded | AttemptResult::Released | AttemptResult::Unheard => return,
    };
    metrics::counter!(name, "kind" => past.key.kind.to_string()).increment(1);
}

/// The open incident of a subject.
pub(crate) fn find_open_incident(
    connection: &Connection,
    tenant: &Tenant,
    subject: &Subject,
) -> Result<Option<Incident>> {
    let cells = [tenant.as_str(), subject.sort.as_str(), subject.kind.as_str(), &subject.id].map(text);
    Ok(query(connection, &sql::FIND_OPEN_INCIDENT, cells, row::incident)?.pop())
}

/// Writes the current state of an incident.
pub(crate) fn write_incident(connection: &Connection, incident: &Incident) -> Result<()> {
    execute(connection, &sql::WRITE_INCIDENT, IncidentRow::new(incident)?.cells()).map(drop)
}

/// Adds a line to an operation's timeline.
pub(crate) fn add_note(connection: &Connection, key: &OperationKey, note: &Note) -> Result<()> {
    execute(connection, &sql::ADD_NOTE, note::cells(key, note)).map(drop)
}
