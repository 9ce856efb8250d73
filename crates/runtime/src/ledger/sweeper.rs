//! Finds what time has passed by.

use std::time::Duration;

use onefold_core::Result;
use onefold_core::port::{Store, SweepRequest, SweepScope};
use tokio::task::JoinHandle;

use crate::every::every;
use crate::ledger::handle::Ledger;
use crate::meter;

/// Entries one commit of the sweeper moves at most.
const SLICE: usize = 200;

pub(crate) fn start<S: Store>(ledger: &Ledger<S>) -> JoinHandle<()> {
    every(ledger, ledger.inner.settings.sweep_every, |ledger| {
        Box::pin(async move {
            if let Err(error) = ledger.sweep().await {
                meter::store_error("sweep", &error);
                tracing::warn!(error_code = %error.code(), constraint = error.constraint(), "sweep failed; it is tried again");
            }
        })
    })
}

/// Sweeps slice by slice until nothing is left.
pub(crate) async fn sweep_all<S: Store>(ledger: &Ledger<S>, scope: &SweepScope) -> Result<usize> {
    let mut moved = 0;
    loop {
        let request = SweepRequest {
            kinds: ledger.kinds(),
            scope: scope.clone(),
            clock_slack: Duration::from_secs(5),
            seed: ledger.jitter().0,
            limit: SLICE,
        };
        let swept = ledger.inner.store.sweep(request).await?;
        moved += swept.total();
        if swept.to_person > 0 {
            tracing::error!(operations = swept.to_person, "outcomes need a person");
        }
        if !swept.more {
            return Ok(moved);
        }
    }
}

impl<S: Store> Ledger<S> {
    /// Sweeps now, as the loop does on its own; answers how many operations moved.
    pub async fn sweep(&self) -> Result<usize> {
        sweep_all(self, &SweepScope::Overdue).await
    }
}
