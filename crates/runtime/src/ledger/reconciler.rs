//! Drives `ask` and `void` on their schedule.

use std::sync::Arc;

use onefold_core::call::CallHealth;
use onefold_core::effect::KindSpec;
use onefold_core::ledger::{Entry, ReconcileRequest, ReconcilerAnswer};
use onefold_core::port::Store;
use onefold_core::{Result, Timestamp};
use tokio::task::{JoinHandle, JoinSet};

use crate::every::every;
use crate::ledger::handle::Ledger;
use crate::ledger::kind::{PendingQuestion, Reconciler};
use crate::meter;

/// Questions in flight at once.
const AT_ONCE: usize = 32;

pub(crate) fn start<S: Store>(ledger: &Ledger<S>) -> JoinHandle<()> {
    every(ledger, ledger.inner.settings.ask_every, |ledger| {
        Box::pin(async move {
            if let Err(error) = ledger.ask_due().await {
                meter::store_error("reconcile", &error);
                tracing::warn!(error_code = %error.code(), constraint = error.constraint(), "questions not asked; they are tried again");
            }
        })
    })
}

impl<S: Store> Ledger<S> {
    /// Asks every question that is due now, as the loop does on its own; answers how many were asked.
    pub async fn ask_due(&self) -> Result<usize> {
        let reconcilers = self.reconcilers();
        if reconcilers.is_empty() {
            return Ok(0);
        }
        // Given back when the provider's time to answer is over, and some more for writing the answer.
        let hold_for = self.inner.settings.ask_deadline * 2;
        let due = self.inner.store.take_due(reconcilers.keys().cloned().collect(), AT_ONCE, hold_for).await?;
        let kinds = self.kinds();
        let mut asking = JoinSet::new();
        for entry in due.entries {
            if let (Some(reconciler), Some(terms)) = (reconcilers.get(&entry.key.kind), kinds.get(&entry.key.kind)) {
                asking.spawn(ask(self.clone(), entry, reconciler.clone(), Arc::clone(terms), due.now));
            }
        }
        let mut answers = Vec::new();
        while let Some(joined) = asking.join_next().await {
            // A question that panicked is asked again when its time comes.
            answers.extend(joined.ok());
        }
        let asked = answers.len();
        if asked > 0 {
            self.inner.store.reconcile(answers).await?;
        }
        Ok(asked)
    }
}

async fn ask<S: Store>(
    ledger: Ledger<S>,
    entry: Entry,
    reconciler: Reconciler,
    terms: Arc<KindSpec>,
    asked_at: Timestamp,
) -> ReconcileRequest {
    let (key, fence) = (entry.key.clone(), entry.fence);
    let settings = &ledger.inner.settings;
    let request = |answer| ReconcileRequest {
        key,
        fence,
        question: reconciler.question,
        answer,
        asked_at,
        terms: Arc::clone(&terms),
    };
    let Ok(permit) = ledger.permit(&terms) else {
        // Not asked: it is asked again when its time comes, as after any answer that tells nothing.
        return request(ReconcilerAnswer::CannotTell);
    };
    // In a task of its own, so that a panic in the closure is an answer that tells nothing.
    let mut answering = tokio::spawn((reconciler.ask)(PendingQuestion::new(entry)));
    let (answer, health) = tokio::select! {
        joined = &mut answering => {
            joined.map_or((ReconcilerAnswer::CannotTell, CallHealth::NotInvolved), |said| (said.answer, said.health))
        }
        () = settings.clock.sleep(settings.ask_deadline) => {
            answering.abort();
            (ReconcilerAnswer::CannotTell, CallHealth::Failed)
        }
    };
    permit.ended(health);
    request(answer)
}
