//! Remembers how far the ledger has come, outside its database: one that went back is noticed at the next start.

use onefold_core::port::Store;
use tokio::task::JoinHandle;

use crate::every::every;
use crate::ledger::handle::Ledger;

pub(crate) fn start<S: Store>(ledger: &Ledger<S>) -> JoinHandle<()> {
    every(ledger, ledger.inner.settings.remember_every, |ledger| {
        Box::pin(async move {
            if let Err(error) = ledger.inner.store.remember().await {
                ledger.inner.batcher.writes().failed(&error);
                tracing::warn!(error_code = %error.code(), "how far the ledger has come is not remembered; it is tried again");
            }
        })
    })
}
