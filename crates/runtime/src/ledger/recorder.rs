//! Records outcomes, past the lease if need be; what cannot be recorded waits in the journal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onefold_core::effect::{EffectContract, KindSpec};
use onefold_core::error::{ErrorClass, OUTCOME_NOT_RECORDED, STORE_UNAVAILABLE};
use onefold_core::ledger::{RecordRequest, Recorded, Refusal};
use onefold_core::operation::KindName;
use onefold_core::port::{Clock, Store};
use onefold_core::retry::Jitter;
use onefold_core::{Error, Result};
use tokio::task::JoinHandle;

use crate::every::every;
use crate::ledger::batcher::Batcher;
use crate::ledger::handle::Ledger;
use crate::ledger::journal::{Journal, JournalEntry};
use crate::settings::Settings;

/// How long to wait between two tries to record.
const TRY_EVERY: Duration = Duration::from_millis(200);

/// Records outcomes until they are recorded.
pub(crate) struct Recorder {
    batcher: Batcher,
    clock: Arc<dyn Clock>,
    record_for: Duration,
    journal: Option<Arc<dyn Journal>>,
    /// Outcomes of this life that still wait.
    waiting: Mutex<Vec<RecordRequest>>,
    draining: AtomicBool,
}

impl Recorder {
    pub(crate) fn new(batcher: Batcher, settings: &Settings) -> Self {
        Self {
            batcher,
            clock: Arc::clone(&settings.clock),
            record_for: settings.record_for,
            journal: settings.journal.clone(),
            waiting: Mutex::default(),
            draining: AtomicBool::new(false),
        }
    }

    /// Records an outcome; when the store does not take it, it waits in the journal and the caller is told so.
    pub(crate) async fn record(&self, request: RecordRequest) -> Result<Recorded> {
        let give_up = self.clock.monotonic().saturating_add(self.record_for);
        loop {
            match self.batcher.record(request.clone()).await {
                Err(error) if may_pass(&error) && self.may_wait(give_up) => self.clock.sleep(TRY_EVERY).await,
                Err(error) => return Err(self.set_aside(request, error).await),
                Ok(recorded) => return Ok(recorded),
            }
        }
    }

    /// Whether there is time for another try. A process that drains may end at any moment: it writes the journal at once.
    fn may_wait(&self, give_up: Duration) -> bool {
        self.clock.monotonic() < give_up && !self.draining.load(Ordering::Acquire)
    }

    /// From now on an outcome that the store does not take goes to the journal at once.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Keeps an outcome that the store did not take. Its caller is told neither success nor failure.
    async fn set_aside(&self, request: RecordRequest, cause: Error) -> Error {
        let reference = request.key.reference();
        let entry = JournalEntry {
            key: request.key.clone(),
            fence: request.fence,
            attempt_id: request.attempt_id,
            outcome: request.outcome.clone(),
        };
        // Before it is written: the journal is only ever cleared while nothing waits.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let written = match self.journal.clone() {
            None => Err("no journal is configured".to_owned()),
            Some(journal) => tokio::task::spawn_blocking(move || journal.append(&entry))
                .await
                .map_err(|cause| cause.to_string())
                .and_then(|written| written.map_err(|cause| cause.to_string())),
        };
        tracing::error!(operation = %reference, error_code = %cause.code(), journaled = written.is_ok(), "outcome not recorded");
        let detail = match written {
            Ok(()) => format!("operation {reference} was attempted and its outcome waits in the journal"),
            Err(why) => format!("operation {reference} was attempted and its outcome waits in memory only: {why}"),
        };
        Error::new(OUTCOME_NOT_RECORDED, detail).caused_by(cause)
    }

    /// An outcome that is in the journal and stays there until the store takes it.
    fn keep_waiting(&self, request: RecordRequest) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    }

    /// Tries everything that waits once more; the journal is cleared when nothing waits any longer.
    async fn try_waiting(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if waiting.is_empty() {
            return;
        }
        let mut left = Vec::new();
        for request in waiting {
            match self.batcher.record(request.clone()).await {
                Ok(_) => tracing::info!(operation = %request.key.reference(), "waiting outcome recorded"),
                Err(error) => {
                    tracing::warn!(operation = %request.key.reference(), error_code = %error.code(), "outcome still waits");
                    left.push(request);
                }
            }
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(left);
        if !waiting.is_empty() {
            return;
        }
        if let Some(Err(cause)) = self.journal.as_ref().map(|journal| journal.clear()) {
            tracing::warn!(%cause, "journal not cleared; its outcomes are recorded and will be accepted again");
        }
    }
}

/// Whether the ledger has no trace of what was reported: another ledger's journal, or one that has gone back in time.
/// Every other answer keeps the report in the ledger itself.
fn knows_no_grant(answer: &Recorded) -> bool {
    matches!(answer, Recorded::Refused(Refusal::NeverGranted | Refusal::NotYours | Refusal::EvidenceRequired))
}

/// Whether the store may take it later.
fn may_pass(error: &Error) -> bool {
    match error.code().descriptor().class {
        ErrorClass::Contention | ErrorClass::Dependency | ErrorClass::Operational | ErrorClass::Process => true,
        ErrorClass::Validation
        | ErrorClass::DomainRule
        | ErrorClass::Authorization
        | ErrorClass::NotFound
        | ErrorClass::Conflict
        | ErrorClass::Duplicate
        | ErrorClass::OptimisticLock
        | ErrorClass::Contract
        | ErrorClass::Bug => false,
    }
}

/// Records what an earlier life left in the journal; answers how many, and how many lines were damaged.
pub(crate) async fn recover<S: Store>(ledger: &Ledger<S>) -> Result<(usize, usize)> {
    let Some(journal) = &ledger.inner.settings.journal else {
        return Ok((0, 0));
    };
    let unreadable = |cause: std::io::Error| {
        Error::new(STORE_UNAVAILABLE, format!("the journal cannot be read: {cause}")).caused_by(cause)
    };
    let journaled = journal.read().map_err(unreadable)?;
    let mut recorded = 0;
    for entry in &journaled.entries {
        let request = RecordRequest {
            key: entry.key.clone(),
            fence: entry.fence,
            attempt_id: entry.attempt_id,
            outcome: entry.outcome.clone(),
            terms: terms_of(ledger, &entry.key.kind),
            jitter: Jitter::default(),
        };
        match ledger.inner.batcher.record(request.clone()).await {
            Ok(answer) => {
                recorded += 1;
                if knows_no_grant(&answer) {
                    journal.refuse(entry).map_err(unreadable)?;
                    tracing::error!(operation = %entry.key.reference(), ?answer, "journaled outcome set aside: the ledger knows no such grant");
                    continue;
                }
                tracing::info!(operation = %entry.key.reference(), ?answer, "journaled outcome recorded");
            }
            // A store that is away cannot start; one outcome that it refuses keeps nobody else from starting.
            Err(error) if may_pass(&error) => return Err(error),
            Err(error) => {
                tracing::error!(operation = %entry.key.reference(), error_code = %error.code(), "journaled outcome refused");
                ledger.inner.recorder.keep_waiting(request);
            }
        }
    }
    if journaled.damaged > 0 {
        tracing::error!(
            lines = journaled.damaged,
            "the journal has damaged lines; they are kept aside and not believed"
        );
    }
    if recorded == journaled.entries.len() && recorded + journaled.damaged > 0 {
        journal.clear().map_err(unreadable)?;
    }
    Ok((recorded, journaled.damaged))
}

/// The kind's terms; for a kind that is not declared here, the stored contract decides and a result is kept whole.
pub(crate) fn terms_of<S: Store>(ledger: &Ledger<S>, kind: &KindName) -> Arc<KindSpec> {
    let laxest = || {
        let mut terms = KindSpec::new(kind.clone(), EffectContract::LAXEST);
        terms.result_bytes_max = usize::MAX;
        Arc::new(terms)
    };
    ledger.kinds().get(kind).cloned().unwrap_or_else(laxest)
}

/// Tries what waits again and again, until this process ends.
pub(crate) fn start<S: Store>(ledger: &Ledger<S>) -> JoinHandle<()> {
    every(ledger, TRY_EVERY * 5, |ledger| Box::pin(async move { ledger.inner.recorder.try_waiting().await }))
}
