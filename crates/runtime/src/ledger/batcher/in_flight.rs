//! Several batches in flight at once, for a store that takes them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onefold_core::port::LedgerWrite;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{QueuedStep, WeakBatcher, carry};

/// What waits is shared out over the store's lanes. A lane beside a busy one is worth its commit only for a batch of
/// some size: half of what the last one had.
pub(super) async fn serve<S: LedgerWrite + 'static>(
    store: &Arc<S>,
    mut waiting: mpsc::Receiver<QueuedStep>,
    batch_max: usize,
    reach: &Arc<WeakBatcher>,
) {
    let mut in_flight: JoinSet<usize> = JoinSet::new();
    let mut batch = Vec::with_capacity(batch_max);
    let mut last = 1;
    let mut open = true;
    while open || !batch.is_empty() || !in_flight.is_empty() {
        let enough = if in_flight.is_empty() { 1 } else { (last / 2).max(2) };
        if batch.len() >= enough && in_flight.len() < store.batches_in_flight_max() {
            let batch = std::mem::take(&mut batch);
            last = batch.len();
            reach.alone.last_batch.store(last, Ordering::Relaxed);
            if last == 1 && in_flight.is_empty() {
                // A caller alone does not pay for another task.
                carry(&**store, batch, reach).await;
            } else {
                let (store, reach) = (Arc::clone(store), Arc::clone(reach));
                in_flight.spawn(async move {
                    let size = batch.len();
                    carry(&*store, batch, &reach).await;
                    size
                });
            }
            continue;
        }
        let room = batch_max - batch.len();
        tokio::select! {
            came = waiting.recv_many(&mut batch, room), if open && room > 0 => open = came > 0,
            Some(ended) = in_flight.join_next(), if !in_flight.is_empty() => {
                gather(&waiting, ended.unwrap_or(1).min(room));
            }
        }
    }
}

/// Lets callers that were just answered bring their next step. The core is given away between two looks: on a small
/// machine it is the callers, and the database, that need it.
fn gather(waiting: &mpsc::Receiver<QueuedStep>, enough: usize) {
    const LOOKS: usize = 64;
    let (mut seen, mut looks) = (waiting.len(), 0);
    while seen < enough && looks < LOOKS {
        std::thread::yield_now();
        let now = waiting.len();
        looks = if now > seen { 0 } else { looks + 1 };
        seen = now;
    }
}
