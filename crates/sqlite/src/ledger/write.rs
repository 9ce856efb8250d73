//! Claim, record, renew, release: decide on what is stored, write what changes, one commit for all.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onefold_core::error::DATABASE_BUSY;
use onefold_core::ledger::GrantCache;
use onefold_core::ledger::{self, ClaimRequest, Decision, Entry, Note, RecordRequest, ResolveRequest, Resolved};
use onefold_core::operation::OperationKey;
use onefold_core::port::{BoxFuture, CommitPoint, LedgerWrite, Step, StepAnswer};
use onefold_core::row::{Cell, operation};
use onefold_core::{Result, Timestamp};
use rusqlite::{CachedStatement, Connection, Statement};

use crate::error::translate;
use crate::ledger::row::Bound;
use crate::ledger::transition::{add_note, carry_out, find, find_attempt, find_with, in_transaction};
use crate::{Sqlite, sql};

/// Batches from this size on are synced by another thread while the next one is written; for fewer the way there and
/// back costs more than it saves.
const SYNCED_BEHIND_MIN: usize = 8;

impl LedgerWrite for Sqlite {
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'static, Result<Vec<Result<StepAnswer>>>> {
        // Right here: the batcher has a thread of its own for this.
        let acted = self.inner.writer.call_here(|connection| self.commit(connection, &steps));
        let durable = self.inner.log.durable();
        Box::pin(async move {
            let answers = acted?;
            durable.await?;
            Ok(answers)
        })
    }

    /// One batch is written while the log of the last is on its way to the disk; a slow disk takes several at once.
    fn batches_in_flight_max(&self) -> usize {
        4
    }

    fn act_inline(&self, step: &Step) -> Option<Result<StepAnswer>> {
        if !self.inner.clock.commits_are_quick() || !self.inner.log.is_synced() {
            return None;
        }
        let answers = self.inner.writer.try_call_here(|connection| {
            // Another process' transaction is waited for by the batcher, never by a caller's thread.
            connection.busy_timeout(Duration::ZERO).map_err(translate)?;
            let answers = self.commit(connection, std::slice::from_ref(step));
            connection.busy_timeout(self.inner.options.busy_wait).map_err(translate)?;
            // What another process wrote may not be durable yet.
            self.inner.log.sync_here()?;
            answers
        })?;
        match answers {
            Err(error) if error.code() == DATABASE_BUSY => None,
            Err(error) => Some(Err(error)),
            Ok(mut answers) => answers.pop(),
        }
    }

    fn resolve(&self, requests: Vec<ResolveRequest>) -> BoxFuture<'_, Result<Vec<Result<Resolved>>>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| {
                requests.iter().map(|request| resolve_one(connection, request, now)).collect()
            })
        }))
    }

    fn append_audit(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.inner.writer.call(move |connection| add_note(connection, &key, &note)))
    }
}

impl Sqlite {
    fn commit(&self, connection: &Connection, steps: &[Step]) -> Result<Vec<Result<StepAnswer>>> {
        self.inner.track.check()?;
        self.inner.log.check()?;
        let faults = &*self.inner.faults;
        let mut granted = self.inner.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others_wrote = false;
        let mut transact = || {
            in_transaction(connection, &self.inner.clock, |connection, now| {
                others_wrote = self.inner.log.others_wrote(connection)?;
                let mut batch = Batch::prepare(connection, &mut granted, now)?;
                let answers: Vec<_> = steps.iter().map(|step| batch.act(step)).collect::<Result<_>>()?;
                CommitPoint::BeforeCommit.reach(faults, answers.iter().flatten());
                Ok((answers, batch.fresh))
            })
        };
        let (waits, before) = (steps.len() < SYNCED_BEHIND_MIN, connection.total_changes());
        let ended = if waits { transact() } else { self.inner.log.without_waiting(connection, transact) };
        let changed = connection.total_changes() != before;
        // A commit that waited for the disk took everything before it along.
        if (changed || others_wrote) && !(changed && waits && ended.is_ok()) {
            self.inner.log.committed();
        }
        let (answers, fresh) = ended?;
        CommitPoint::AfterCommit.reach(faults, answers.iter().flatten());
        granted.keep(fresh);
        Ok(answers)
    }
}

/// A batch in flight. Its statements are taken from the cache once, not once a step.
struct Batch<'c> {
    connection: &'c Connection,
    now: Timestamp,
    find: CachedStatement<'c>,
    insert: CachedStatement<'c>,
    settle: CachedStatement<'c>,
    update: CachedStatement<'c>,
    granted: &'c mut GrantCache,
    /// What this batch grants; remembered once it is committed.
    fresh: Vec<Entry>,
    /// Whether the last claim was of a known operation: then the next one probably is, and is read first.
    known: bool,
}

impl<'c> Batch<'c> {
    fn prepare(connection: &'c Connection, granted: &'c mut GrantCache, now: Timestamp) -> Result<Self> {
        let prepare = |sql| connection.prepare_cached(sql).map_err(translate);
        Ok(Self {
            connection,
            now,
            find: prepare(&sql::FIND)?,
            insert: prepare(&sql::INSERT_IF_ABSENT)?,
            settle: prepare(&sql::SETTLE)?,
            update: prepare(&sql::UPDATE)?,
            granted,
            fresh: Vec::new(),
            known: false,
        })
    }

    /// One step. The outer error ends the batch; the inner one is this step's answer.
    fn act(&mut self, step: &Step) -> Result<Result<StepAnswer>> {
        if let (Step::Claim(request), false) = (step, self.known)
            && let Some(granted) = self.claim_absent(request)?
        {
            return Ok(Ok(granted));
        }
        if let Step::Record(request) = step
            && let Some(recorded) = self.record_granted(request)?
        {
            return Ok(Ok(recorded));
        }
        let entry = find_with(&mut self.find, step.key())?;
        let entry = entry.as_ref();
        let past = match step.past_fence(entry) {
            Some(fence) => find_attempt(self.connection, step.key(), fence)?,
            None => None,
        };
        match step.decide(entry, past.as_ref(), self.now) {
            Err(error) => Ok(Err(error)),
            Ok(decided) => {
                if matches!(step, Step::Claim(_)) {
                    self.known = entry.is_some();
                }
                self.write(entry, decided).map(Ok)
            }
        }
    }

    /// Grants an operation if there is none under its key; most claims need only this.
    fn claim_absent(&mut self, request: &ClaimRequest) -> Result<Option<StepAnswer>> {
        let Ok(Decision { answer, transition: Some(transition) }) = ledger::decide(None, request, self.now) else {
            return Ok(None);
        };
        if run(&mut self.insert, &operation::granted_cells(&transition.entry))? == 0 {
            return Ok(None);
        }
        self.fresh.push(transition.entry);
        Ok(Some(StepAnswer::Claim(answer)))
    }

    /// Completes what this process granted, if the row still is that grant; most records need only this.
    fn record_granted(&mut self, request: &RecordRequest) -> Result<Option<StepAnswer>> {
        let Some(entry) = self.granted.take(request) else {
            return Ok(None);
        };
        let Decision { answer, transition: Some(transition) } = ledger::record(Some(&entry), None, request, self.now)
        else {
            return Ok(None);
        };
        let after = &transition.entry;
        let settles = transition.row_alone() && operation::only_settles(&entry, after);
        let settled = settles && run(&mut self.settle, &operation::settling_cells(after))? == 1;
        Ok(settled.then_some(StepAnswer::Record(answer)))
    }

    fn write(&mut self, before: Option<&Entry>, decided: Decision<StepAnswer>) -> Result<StepAnswer> {
        let Some(transition) = decided.transition else {
            return Ok(decided.answer);
        };
        let after = &transition.entry;
        match before {
            None => run(&mut self.insert, &operation::granted_cells(after)).map(drop)?,
            Some(_) if transition.row_alone() => run(&mut self.update, &operation::updating_cells(after)).map(drop)?,
            Some(_) => carry_out(self.connection, *transition).map(drop)?,
        }
        Ok(decided.answer)
    }
}

/// Runs a statement with these cells; most columns of most rows are NULL, which a cleared parameter is already.
fn run(statement: &mut Statement<'_>, cells: &[Cell<'_>]) -> Result<usize> {
    let mut run = || -> rusqlite::Result<usize> {
        statement.clear_bindings();
        for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| !matches!(cell, Cell::Null)) {
            statement.raw_bind_parameter(index + 1, Bound(cell))?;
        }
        statement.raw_execute()
    };
    run().map_err(translate)
}

fn resolve_one(connection: &Connection, request: &ResolveRequest, now: Timestamp) -> Result<Result<Resolved>> {
    let entry = find(connection, &request.key)?;
    match ledger::resolve(entry.as_ref(), request, now) {
        Err(refused) => Ok(Err(refused)),
        Ok(decided) => {
            if let Some(transition) = decided.transition {
                carry_out(connection, *transition)?;
            }
            Ok(Ok(decided.answer))
        }
    }
}
