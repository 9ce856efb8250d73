//! A loop that lives as long as its ledger.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::port::{BoxFuture, Store};
use tokio::task::JoinHandle;

use crate::ledger::handle::Ledger;

/// Calls `tick` every `interval`, until the last handle of the ledger is gone.
pub(crate) fn every<S: Store>(
    ledger: &Ledger<S>,
    interval: Duration,
    tick: fn(Ledger<S>) -> BoxFuture<'static, ()>,
) -> JoinHandle<()> {
    let clock = Arc::clone(&ledger.inner.settings.clock);
    let inner = Arc::downgrade(&ledger.inner);
    tokio::spawn(async move {
        loop {
            clock.sleep(interval).await;
            let Some(inner) = inner.upgrade() else {
                return;
            };
            tick(Ledger { inner }).await;
        }
    })
}
