//! Claim, record, renew, release.

use std::sync::Arc;

use onefold_core::Timestamp;
use onefold_core::error::Result;
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
    let past = step.past_fence(entry).and_then(|fence| data.attempts.get(&(step.key().clone(), fence)));
    let decided = step.decide(entry, past, now)?;
    if let Some(transition) = decided.transition {
        data.carry_out(*transition);
    }
    Ok(decided.answer)
}
