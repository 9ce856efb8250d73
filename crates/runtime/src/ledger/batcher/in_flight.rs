//! Which steps go into a batch, and when it begins.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onefold_core::port::LedgerWrite;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinSet;

use super::queue::StepReceiver;
use super::{Batch, WeakBatcher};

/// Batches from this size on are answered by a task of the callers' runtime: there a caller is woken without a system
/// call, and the next batch is written meanwhile.
const ANSWERED_ELSEWHERE_MIN: usize = 4;

/// So many steps and fewer are not shared out over two batches.
const WHOLE_MAX: usize = 16;

/// Begins a batch when none is in flight, and beside others once as many steps wait as are in flight: then about half of
/// the callers' work is in the store, and the other half on its way there.
pub(super) async fn serve<S: LedgerWrite + 'static>(
    store: &Arc<S>,
    mut waiting: StepReceiver,
    batch_max: usize,
    reach: &Arc<WeakBatcher>,
) {
    // A runtime without threads of its own runs a task only while somebody drives it, and callers may be elsewhere.
    let has_threads = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    let mut in_flight = InFlight { batches: JoinSet::new(), steps: 0 };
    loop {
        while !in_flight.batches.is_empty() {
            let enough = in_flight.steps.clamp(1, batch_max);
            let has_room = in_flight.batches.len() < store.batches_in_flight_max();
            if has_room && waiting.len() >= enough {
                break;
            }
            tokio::select! {
                ended = in_flight.ends() => {
                    if in_flight.batches.is_empty() {
                        gather(&waiting, ended / 2);
                    }
                }
                () = waiting.reaches(enough), if has_room => {}
            }
        }
        let half = (waiting.len() + in_flight.steps).div_ceil(2);
        let batch = waiting.take(half.clamp(WHOLE_MAX.min(batch_max), batch_max)).await;
        let size = batch.len();
        if size == 0 {
            return;
        }
        reach.alone.last_batch.store(size, Ordering::Relaxed);
        let begun = Batch::begin(&**store, batch, reach);
        if !has_threads || size < ANSWERED_ELSEWHERE_MIN && in_flight.batches.is_empty() {
            begun.end(&**store, reach).await;
            gather(&waiting, size / 2);
        } else {
            let (store, reach) = (Arc::clone(store), Arc::clone(reach));
            in_flight.add(size, async move { begun.end(&*store, &reach).await });
        }
    }
}

/// The batches that were begun and not answered yet.
struct InFlight {
    batches: JoinSet<usize>,
    /// Steps in all of them.
    steps: usize,
}

impl InFlight {
    fn add(&mut self, size: usize, ending: impl Future<Output = ()> + Send + 'static) {
        self.steps += size;
        self.batches.spawn(async move {
            ending.await;
            size
        });
    }

    /// Waits until a batch has been answered; says how many steps it had.
    async fn ends(&mut self) -> usize {
        // One that panicked does not say its size.
        let size = self.batches.join_next().await.and_then(Result::ok).unwrap_or(0);
        self.steps = if self.batches.is_empty() { 0 } else { self.steps.saturating_sub(size) };
        size
    }
}

/// Lets callers that were just answered bring their next step before the next batch begins.
///
/// No timer and no sleep: it looks a bounded number of times, and goes on only while steps keep coming. The core is
/// given away between two looks: on a small machine it is the callers, and the database, that need it.
fn gather(waiting: &StepReceiver, enough: usize) {
    const LOOKS: usize = 64;
    let (mut seen, mut looks) = (waiting.len(), 0);
    while seen < enough && looks < LOOKS {
        std::thread::yield_now();
        let now = waiting.len();
        looks = if now > seen { 0 } else { looks + 1 };
        seen = now;
    }
}
