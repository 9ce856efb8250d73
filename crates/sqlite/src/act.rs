//! Claim, record, renew, release: decide on what is stored, write what changes, one commit for all.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onefold_core::error::DATABASE_BUSY;
use onefold_core::ledger::{self, Attempt, Claim, ClaimRequest, Decision, Entry, RecordRequest, Transition};
use onefold_core::ports::{Act, BoxFuture, FaultPoint, Faults, Step, StepAnswer};
use onefold_core::{Result, Timestamp};
use rusqlite::{CachedStatement, Connection, Statement};

use crate::error::translate;
use crate::granted::Granted;
use crate::row::{self, Bound, Cell};
use crate::write::{carry_out, find_attempt, find_with, in_transaction};
use crate::{Sqlite, sql};

impl Act for Sqlite {
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'_, Result<Vec<Result<StepAnswer>>>> {
        // Right here: the front has a thread of its own for this.
        let answers = self.inner.writer.call_here(|connection| self.commit(connection, &steps));
        Box::pin(std::future::ready(answers))
    }

    fn act_alone(&self, step: &Step) -> Option<Result<StepAnswer>> {
        if !self.inner.clock.commits_are_quick() {
            return None;
        }
        let answers = self.inner.writer.try_call_here(|connection| {
            // Another process' transaction is waited for by the front, never by a caller's thread.
            connection.busy_timeout(Duration::ZERO).map_err(translate)?;
            let answers = self.commit(connection, std::slice::from_ref(step));
            connection.busy_timeout(self.inner.options.busy_wait).map_err(translate)?;
            answers
        })?;
        match answers {
            Err(error) if error.code() == DATABASE_BUSY => None,
            Err(error) => Some(Err(error)),
            Ok(mut answers) => answers.pop(),
        }
    }
}

impl Sqlite {
    fn commit(&self, connection: &Connection, steps: &[Step]) -> Result<Vec<Result<StepAnswer>>> {
        let faults = &*self.inner.faults;
        let mut seen = Seen::default();
        let mut granted = self.inner.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let (answers, fresh) = in_transaction(connection, &self.inner.clock, |connection, now| {
            let mut batch = Batch::prepare(connection, &mut granted, now)?;
            let answers: Vec<_> = steps.iter().map(|step| batch.act(step)).collect::<Result<_>>()?;
            seen = Seen::of(&answers);
            seen.reach(faults, FaultPoint::BeforeClaimCommit, FaultPoint::BeforeRecordCommit);
            Ok((answers, batch.fresh))
        })?;
        seen.reach(faults, FaultPoint::AfterClaimCommit, FaultPoint::AfterRecordCommit);
        granted.keep(fresh);
        Ok(answers)
    }
}

/// What a batch holds, for the places where a test may stop the process.
#[derive(Default)]
struct Seen {
    grant: bool,
    record: bool,
}

impl Seen {
    fn of(answers: &[Result<StepAnswer>]) -> Self {
        let any = |test: fn(&StepAnswer) -> bool| answers.iter().flatten().any(test);
        Self {
            grant: any(|answer| matches!(answer, StepAnswer::Claim(Claim::Granted(_)))),
            record: any(|answer| matches!(answer, StepAnswer::Record(_))),
        }
    }

    fn reach(&self, faults: &dyn Faults, grant: FaultPoint, record: FaultPoint) {
        if self.grant {
            faults.reach(grant);
        }
        if self.record {
            faults.reach(record);
        }
    }
}

/// A batch under way. Its statements are taken from the cache once, not once a step.
struct Batch<'c> {
    connection: &'c Connection,
    now: Timestamp,
    find: CachedStatement<'c>,
    insert: CachedStatement<'c>,
    settle: CachedStatement<'c>,
    update: CachedStatement<'c>,
    granted: &'c mut Granted,
    /// What this batch grants; remembered once it is committed.
    fresh: Vec<Entry>,
    /// Whether the last claim was of a known operation: then the next one probably is, and is read first.
    known: bool,
}

impl<'c> Batch<'c> {
    fn prepare(connection: &'c Connection, granted: &'c mut Granted, now: Timestamp) -> Result<Self> {
        let prepare = |sql| connection.prepare_cached(sql).map_err(translate);
        Ok(Self {
            connection,
            now,
            find: prepare(sql::FIND)?,
            insert: prepare(sql::INSERT_IF_ABSENT)?,
            settle: prepare(sql::SETTLE)?,
            update: prepare(sql::UPDATE)?,
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
        let decided = match step {
            Step::Claim(request) => match ledger::decide(entry, request, self.now) {
                Ok(decision) => {
                    self.known = entry.is_some();
                    decision.map(StepAnswer::Claim)
                }
                Err(error) => return Ok(Err(error)),
            },
            Step::Record(request) => {
                let past = self.past_attempt(entry, request)?;
                ledger::record(entry, past.as_ref(), request, self.now).map(StepAnswer::Record)
            }
            Step::Renew(request) => ledger::renew(entry, request, self.now).map(StepAnswer::Renew),
            Step::Release(request) => ledger::release(entry, request, self.now).map(StepAnswer::Release),
        };
        self.write(entry, decided).map(Ok)
    }

    /// Grants an operation if there is none under its key; most claims need only this.
    fn claim_absent(&mut self, request: &ClaimRequest) -> Result<Option<StepAnswer>> {
        let Ok(Decision { answer, transition: Some(transition) }) = ledger::decide(None, request, self.now) else {
            return Ok(None);
        };
        if run(&mut self.insert, &row::cells(&transition.entry))? == 0 {
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
        match row::settled_cells(&entry, &transition.entry) {
            Some(settled) if row_alone(&transition) && run(&mut self.settle, &settled)? == 1 => {
                Ok(Some(StepAnswer::Record(answer)))
            }
            Some(_) | None => Ok(None),
        }
    }

    fn past_attempt(&self, entry: Option<&Entry>, request: &RecordRequest) -> Result<Option<Attempt>> {
        match entry {
            Some(entry) if request.fence < entry.fence => find_attempt(self.connection, &request.key, request.fence),
            Some(_) | None => Ok(None),
        }
    }

    fn write(&mut self, before: Option<&Entry>, decided: Decision<StepAnswer>) -> Result<StepAnswer> {
        let Some(transition) = decided.transition else {
            return Ok(decided.answer);
        };
        let after = &transition.entry;
        match before {
            None => run(&mut self.insert, &row::cells(after)).map(drop)?,
            Some(_) if row_alone(&transition) => run(&mut self.update, &row::cells(after)).map(drop)?,
            Some(_) => carry_out(self.connection, *transition).map(drop)?,
        }
        Ok(decided.answer)
    }
}

/// Whether nothing but the operation's own row changes.
fn row_alone(transition: &Transition) -> bool {
    transition.past.is_none() && transition.incident.is_none() && transition.note.is_none()
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
