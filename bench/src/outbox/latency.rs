//! From commit to published: how long an event waits for its relay, in the same process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::ours::{Acknowledging, CaseSubmitted, Ours};
use crate::rising_id;
use crate::side::{Slice, Workload};
use crate::turns::fresh_prefix;

/// Whether the relay is told of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// At once.
    Told,
    /// It finds out by itself.
    Polls,
}

/// A relay that runs all the time, and writers beside it.
pub struct Latency {
    runtime: Runtime,
    ours: Arc<Ours>,
    target: Arc<Acknowledging>,
    relay: JoinHandle<()>,
    waits: Vec<Duration>,
}

impl Latency {
    /// On a schema of its own.
    pub fn open(url: &str, schema: &str) -> Self {
        let runtime = Runtime::new().expect("threads");
        let ours = Arc::new(runtime.block_on(Ours::open(url, schema, 1)));
        let target = Arc::new(Acknowledging::remembering());
        // What is staged before the relay is declared is none of its events.
        runtime.block_on(ours.drain(&target, 0));
        let running = ours.relay(&target).run(std::future::pending());
        let relay = runtime.spawn(async move { running.await.expect("the relay runs") });
        Self { runtime, ours, target, relay, waits: vec![] }
    }
}

impl Workload for Latency {
    /// `callers` writers; one alone waits for each of its events before it stages the next.
    fn run(&mut self, slice: &Slice) -> Duration {
        let wake = if slice.prefix == "polled" { Wake::Polls } else { Wake::Told };
        let began = Instant::now();
        self.waits = self.runtime.block_on(write(&self.ours, &self.target, slice, wake));
        began.elapsed()
    }

    fn note(&mut self) -> String {
        self.waits.sort_unstable();
        let at = |share: f64| self.waits[((self.waits.len() as f64 * share) as usize).min(self.waits.len() - 1)];
        format!("p50 {:.1} ms, p99 {:.1} ms", at(0.50).as_secs_f64() * 1e3, at(0.99).as_secs_f64() * 1e3)
    }
}

impl Drop for Latency {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

/// How long each event took from its commit to the target.
async fn write(ours: &Arc<Ours>, target: &Arc<Acknowledging>, slice: &Slice, wake: Wake) -> Vec<Duration> {
    let before = target.count();
    let writers = (0..slice.callers).map(|writer| {
        let (ours, target, prefix) = (Arc::clone(ours), Arc::clone(target), fresh_prefix());
        let (events, alone) = (slice.operations / slice.callers, slice.callers == 1);
        tokio::spawn(async move {
            let mut committed = Vec::with_capacity(events);
            for number in 0..events {
                let case = rising_id(&format!("{prefix}-{writer}"), number);
                commit(&ours, case.clone(), wake).await;
                committed.push((case, Instant::now()));
                if alone {
                    target.reached(before + number + 1).await;
                }
            }
            committed
        })
    });
    let mut committed = HashMap::new();
    for writer in writers.collect::<Vec<_>>() {
        committed.extend(writer.await.expect("a writer ended"));
    }
    target.reached(before + committed.len()).await;
    let seen = target.take_seen();
    seen.iter().filter_map(|(case, at)| Some(at.saturating_duration_since(*committed.get(case)?))).collect()
}

async fn commit(ours: &Ours, case: String, wake: Wake) {
    let mut tx = ours.ledger.store().begin().await.expect("begun");
    ours.outbox.stage(&mut tx, &CaseSubmitted::new(case)).await.expect("staged");
    let committed = tx.commit().await.expect("committed");
    if wake == Wake::Told {
        ours.outbox.wake(&committed);
    }
}
