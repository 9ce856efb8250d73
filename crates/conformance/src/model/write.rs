//! Claim, record, renew, release.

use std::sync::Arc;

use onefold_core::Timestamp;
use onefold_core::error::Result;
use onefold_core::ledger::{self, Note, ResolveRequest, Resolved};
use onefold_core::operation::OperationKey;
use onefold_core::port::{BoxFuture, LedgerWrite, Step, StepAnswer};

use super::{Data, Model};

impl LedgerWrite for Model {
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'static, Result<Vec<Result<StepAnswer>>>> {
        let mut data = self.data();
        let now = self.now(&mut data);
        let answers = steps.iter().map(|step| act_one(&mut data, step, now)).collect();
        Box::pin(std::future::ready(Ok(answers)))
    }

    fn resolve(&self, requests: Vec<ResolveRequest>) -> BoxFuture<'_, Result<Vec<Result<Resolved>>>> {
        Box::pin(async move {
            let mut data = self.data();
            let now = self.now(&mut data);
            Ok(requests.iter().map(|request| resolve_one(&mut data, request, now)).collect())
        })
    }

    fn append_audit(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.data().notes.push((key, note));
            Ok(())
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

fn resolve_one(data: &mut Data, request: &ResolveRequest, now: Timestamp) -> Result<Resolved> {
    let decided = ledger::resolve(data.entry(&request.key), request, now)?;
    if let Some(transition) = decided.transition {
        data.carry_out(*transition);
    }
    Ok(decided.answer)
}
