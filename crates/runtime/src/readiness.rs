//! Whether an operation could be claimed now: the last write that failed counts until one succeeds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onefold_core::error::{
    DATABASE_BUSY, DATABASE_CORRUPT, DATABASE_FULL, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE, LEDGER_WENT_BACK,
};
use onefold_core::ledger::Claim;
use onefold_core::port::{Clock, StepAnswer, Store};
use onefold_core::{Error, Result};

use crate::ledger::handle::Ledger;

/// A grant that was written this recently says that the next one can be written too.
const FRESH_FOR: Duration = Duration::from_mins(1);

/// How writing went lately.
pub(crate) struct Writes {
    clock: Arc<dyn Clock>,
    last: Mutex<LastWrite>,
}

#[derive(Default)]
struct LastWrite {
    /// When a grant or a probe was last written.
    wrote_at: Option<Duration>,
    /// Why the last write failed, if it did.
    failed: Option<Error>,
}

impl Writes {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, last: Mutex::default() }
    }

    /// A write that takes room is durable.
    pub(crate) fn wrote(&self) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = LastWrite { wrote_at: Some(self.clock.monotonic()), failed: None };
    }

    /// A write failed because of the store.
    pub(crate) fn failed(&self, error: &Error) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).failed = Some(error.share());
    }

    /// What answers say of writing: a grant was written, a failure of the store was not; the rest tells nothing, and the
    /// last that tells something counts.
    pub(crate) fn observe(&self, answers: &[Result<StepAnswer>]) {
        for answer in answers.iter().rev() {
            match answer {
                Ok(StepAnswer::Claim(Claim::Granted(_))) => return self.wrote(),
                Err(error) if is_of_the_store(error) => return self.failed(error),
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn is_fresh(&self) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let since = last.wrote_at.map(|at| self.clock.monotonic().saturating_sub(at));
        last.failed.is_none() && since.is_some_and(|since| since < FRESH_FOR)
    }
}

fn is_of_the_store(error: &Error) -> bool {
    let codes =
        [DATABASE_BUSY, DATABASE_CORRUPT, DATABASE_FULL, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE, LEDGER_WENT_BACK];
    codes.contains(&error.code())
}

impl<S: Store> Ledger<S> {
    /// Whether an operation could be claimed now.
    ///
    /// The last grant tells; after a failed write, or where there was none for a minute, the store is asked to write
    /// something that takes room.
    pub async fn ready(&self) -> Result<()> {
        let writes = self.inner.batcher.writes();
        if writes.is_fresh() {
            return Ok(());
        }
        let probed = self.inner.store.probe().await;
        match &probed {
            Ok(()) => writes.wrote(),
            Err(error) => writes.failed(error),
        }
        probed
    }
}
