//! Waking a relay of the same process when something was committed; all others poll.

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes relays of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wake(Arc<Notify>);

impl Wake {
    /// Something was committed.
    pub(crate) fn wake(&self) {
        self.0.notify_waiters();
        // One that is about to wait would miss the call above.
        self.0.notify_one();
    }

    /// Waits for the next call.
    pub(crate) async fn woken(&self) {
        self.0.notified().await;
    }
}
