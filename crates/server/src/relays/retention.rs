//! Events that every relay has passed go after a while, in slices.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::clock::Confirmation;
use onefold_core::port::{LedgerMaintenance as _, OutboxOperate as _};

use crate::app::App;

/// How long an event is kept after it was staged, at least.
const KEPT_FOR: Duration = Duration::from_hours(14 * 24);
/// Events that one commit deletes.
const SLICE: usize = 1_000;

/// Prunes every so often, until it is aborted.
pub(super) async fn run(app: Arc<App>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        match prune(&app).await {
            Ok(0) => {}
            Ok(pruned) => tracing::info!(pruned, "events that every relay has passed were deleted"),
            Err(error) => {
                tracing::warn!(error_code = %error.code(), detail = error.detail(), "events were not pruned; they are later");
            }
        }
    }
}

/// Deletes what may go; how many went. A clock that jumped ahead deletes nothing.
async fn prune(app: &App) -> Result<usize> {
    let store = app.ledger.store();
    let by = match store.confirm_time().await? {
        Confirmation::Confirmed(by) | Confirmation::Earlier(by, _) => by,
        Confirmation::Waiting(_) => return Ok(0),
    };
    let before = by.at().minus(KEPT_FOR);
    let mut pruned = 0;
    loop {
        let slice = store.prune_events(before, SLICE).await?;
        pruned += slice;
        if slice < SLICE {
            return Ok(pruned);
        }
    }
}
