//! What time asks for: sweep, reconcile, prune.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::clock::Confirmation;
use onefold_core::ledger::{self, Entry, OVERDUE_FOR, ReconcileRequest, Reconciled, SweepReason};
use onefold_core::operation::KindName;
use onefold_core::port::{
    BoxFuture, DueQuestions, LedgerMaintenance, PruneRequest, Pruned, SweepRequest, SweepScope, Swept,
};
use onefold_core::row::Cell;
use onefold_core::{Result, Timestamp};
use rusqlite::Connection;

use crate::clock::clock_history;
use crate::ledger::row;
use crate::ledger::transition::{carry_out, execute, find, in_transaction, query};
use crate::{Sqlite, sql};

impl LedgerMaintenance for Sqlite {
    fn sweep(&self, request: SweepRequest) -> BoxFuture<'_, Result<Swept>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| sweep(connection, &request, now))
        }))
    }

    fn due(&self, kinds: Vec<KindName>, limit: usize) -> BoxFuture<'_, Result<DueQuestions>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.reader.call(move |connection| {
            let now = clock.now();
            let names: Vec<&str> = kinds.iter().map(KindName::as_str).collect();
            let list = serde_json::json!(names).to_string();
            let cells = [Cell::Int(now.as_micros()), Cell::Text(list.into()), count(limit)];
            Ok(DueQuestions { now, entries: query(connection, &sql::DUE, cells, |found| row::entry(found))? })
        }))
    }

    fn reconcile(&self, answers: Vec<ReconcileRequest>) -> BoxFuture<'_, Result<Vec<Reconciled>>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| {
                answers.iter().map(|answer| reconcile_one(connection, answer, now)).collect()
            })
        }))
    }

    fn confirm_time(&self) -> BoxFuture<'_, Result<Confirmation>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            let look = in_transaction(connection, &clock, |connection, _| {
                let look = clock.look(clock_history(connection)?);
                let candidate = look.history.candidate.map_or(Cell::Null, |at| Cell::Int(at.as_micros()));
                execute(connection, &sql::CONFIRM_TIME, [Cell::Int(look.history.confirmed.as_micros()), candidate])?;
                Ok(look)
            })?;
            clock.looked(&look);
            Ok(look.confirmation)
        }))
    }

    fn prune(&self, request: PruneRequest) -> BoxFuture<'_, Result<Pruned>> {
        Box::pin(self.prune_slice(request))
    }
}

/// A limit as a cell.
pub(crate) fn count(limit: usize) -> Cell<'static> {
    Cell::Int(i64::try_from(limit).unwrap_or(i64::MAX))
}

fn sweep(connection: &Connection, request: &SweepRequest, now: Timestamp) -> Result<Swept> {
    let (reason, found) = match &request.scope {
        SweepScope::Overdue => {
            let overdue_ask = now.minus(OVERDUE_FOR);
            let cells = [
                Cell::Int(now.as_micros()),
                Cell::Int(overdue_ask.as_micros()),
                count(request.limit),
                Cell::Text(slacks(request).into()),
                Cell::Int(micros(request.clock_slack)),
            ];
            (SweepReason::Expired, query(connection, &sql::OVERDUE, cells, |found| row::entry(found))?)
        }
        SweepScope::DeadHolder(installation) => {
            let cells = [Cell::Text(installation.to_string().into()), count(request.limit)];
            (SweepReason::HolderDead, query(connection, &sql::HELD, cells, |found| row::entry(found))?)
        }
    };
    let mut swept = Swept { more: found.len() >= request.limit, ..Swept::default() };
    for (index, entry) in found.iter().enumerate() {
        let sweep = request.sweep(reason, index, &entry.key.kind);
        if let Some(transition) = ledger::sweep(entry, &sweep, now) {
            swept.count(&carry_out(connection, transition)?);
        }
    }
    // What was found but not moved would only be found again.
    swept.more &= swept.total() > 0;
    Ok(swept)
}

/// The clock slack of every known kind, as the query reads it.
fn slacks(request: &SweepRequest) -> String {
    let slacks = request.kinds.iter().map(|(kind, terms)| (kind.as_str().to_owned(), micros(terms.clock_slack).into()));
    serde_json::Value::Object(slacks.collect()).to_string()
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn reconcile_one(connection: &Connection, request: &ReconcileRequest, now: Timestamp) -> Result<Reconciled> {
    let entry: Option<Entry> = find(connection, &request.key)?;
    let decided = ledger::reconcile(entry.as_ref(), request, now);
    if let Some(transition) = decided.transition {
        carry_out(connection, *transition)?;
    }
    Ok(decided.answer)
}
