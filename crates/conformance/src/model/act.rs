//! Claim, record, renew, release.

use std::sync::Arc;

use onefold_core::Timestamp;
use onefold_core::error::Result;
use onefold_core::ledger::{self, RecordRequest};
use onefold_core::ports::{Act, BoxFuture, Step, StepAnswer};

use super::{Data, Model};

impl Act for Model {
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'_, Result<Vec<Result<StepAnswer>>>> {
        Box::pin(async move {
            let mut data = self.data();
            let now = self.now(&mut data);
            Ok(steps.iter().map(|step| act_one(&mut data, step, now)).collect())
        })
    }
}

fn act_one(data: &mut Data, step: &Step, now: Timestamp) -> Result<StepAnswer> {
    let entry = data.entry(step.key());
    let decided = match step {
        Step::Claim(request) => ledger::decide(entry, request, now)?.map(StepAnswer::Claim),
        Step::Record(request) => ledger::record(entry, past(data, request), request, now).map(StepAnswer::Record),
        Step::Renew(request) => ledger::renew(entry, request, now).map(StepAnswer::Renew),
        Step::Release(request) => ledger::release(entry, request, now).map(StepAnswer::Release),
    };
    if let Some(transition) = decided.transition {
        data.carry_out(*transition);
    }
    Ok(decided.answer)
}

fn past<'a>(data: &'a Data, request: &RecordRequest) -> Option<&'a ledger::Attempt> {
    let present = data.entry(&request.key)?.fence;
    data.attempts.get(&(request.key.clone(), request.fence)).filter(|_| request.fence < present)
}
