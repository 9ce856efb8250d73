//! Claim, record, renew, release: decide on what is stored, write what changes, one commit for all.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::Timestamp;
use onefold_core::ledger::{self, Claim, Decision, RecordRequest};
use onefold_core::ports::{Act, BoxFuture, FaultPoint, Faults, Step, StepAnswer};
use rusqlite::Connection;

use crate::Sqlite;
use crate::write::{carry_out, find, find_attempt, in_transaction, insert};

impl Act for Sqlite {
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'_, Result<Vec<Result<StepAnswer>>>> {
        let clock = Arc::clone(&self.inner.clock);
        let faults = Arc::clone(&self.inner.faults);
        Box::pin(self.inner.writer.call(move |connection| {
            let mut seen = Seen::default();
            let answers = in_transaction(connection, &clock, |connection, now| {
                let answers: Vec<_> = steps.iter().map(|step| act_one(connection, step, now)).collect::<Result<_>>()?;
                seen = Seen::of(&answers);
                seen.reach(&*faults, FaultPoint::BeforeClaimCommit, FaultPoint::BeforeRecordCommit);
                Ok(answers)
            })?;
            seen.reach(&*faults, FaultPoint::AfterClaimCommit, FaultPoint::AfterRecordCommit);
            Ok(answers)
        }))
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

/// One step. The outer error ends the batch; the inner one is this step's answer.
fn act_one(connection: &Connection, step: &Step, now: Timestamp) -> Result<Result<StepAnswer>> {
    let entry = find(connection, step.key())?;
    let entry = entry.as_ref();
    let decided = match step {
        Step::Claim(request) => match ledger::decide(entry, request, now) {
            Ok(decision) => decision.map(StepAnswer::Claim),
            Err(error) => return Ok(Err(error)),
        },
        Step::Record(request) => {
            let past = past_attempt(connection, entry, request)?;
            ledger::record(entry, past.as_ref(), request, now).map(StepAnswer::Record)
        }
        Step::Renew(request) => ledger::renew(entry, request, now).map(StepAnswer::Renew),
        Step::Release(request) => ledger::release(entry, request, now).map(StepAnswer::Release),
    };
    write(connection, entry.is_none(), decided).map(Ok)
}

fn past_attempt(
    connection: &Connection,
    entry: Option<&ledger::Entry>,
    request: &RecordRequest,
) -> Result<Option<ledger::Attempt>> {
    match entry {
        Some(entry) if request.fence < entry.fence => find_attempt(connection, &request.key, request.fence),
        Some(_) | None => Ok(None),
    }
}

fn write(connection: &Connection, absent: bool, decided: Decision<StepAnswer>) -> Result<StepAnswer> {
    match decided.transition {
        Some(transition) if absent => insert(connection, &transition.entry)?,
        Some(transition) => carry_out(connection, *transition).map(drop)?,
        None => {}
    }
    Ok(decided.answer)
}
