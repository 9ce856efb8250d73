//! Stopping: nothing new is granted, what is in flight is recorded, the rest is left to its lease.

use std::time::Duration;

use onefold_core::port::Store;

use crate::ledger::handle::Ledger;

/// How to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Let attempts in flight end and record, for at most this long.
    Drain {
        /// How long.
        within: Duration,
    },
    /// Stop at once; attempts in flight become whatever their policy says.
    Now,
}

impl<S: Store> Ledger<S> {
    /// Stops: new claims are refused with `SHUTTING_DOWN`. Answers how many attempts were still in flight.
    pub async fn shutdown(&self, how: Shutdown) -> usize {
        self.inner.running.send_modify(|running| running.stopping = true);
        self.inner.recorder.drain();
        let left = match how {
            Shutdown::Now => self.inner.running.borrow().attempts,
            Shutdown::Drain { within } => {
                let mut running = self.inner.running.subscribe();
                tokio::select! {
                    _ = running.wait_for(|running| running.attempts == 0) => 0,
                    () = self.inner.settings.clock.sleep(within) => self.inner.running.borrow().attempts,
                }
            }
        };
        self.end_loops();
        if let Err(error) = self.inner.store.finish().await {
            tracing::warn!(error_code = %error.code(), detail = error.detail(), "the store was not closed cleanly");
        }
        left
    }
}
