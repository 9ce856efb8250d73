//! A batch is synced while the next one is written, and nobody hears of it before.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use onefold_conformance::fixture::key;
use onefold_conformance::kinds::escalates;
use onefold_core::Result;
use onefold_core::port::{FaultPoint, Faults, LedgerRead as _, LedgerWrite as _, NoFaults, StepAnswer};
use onefold_runtime::SystemRandom;
use onefold_sqlite::{Sqlite, SqliteOptions};
use tokio::task::JoinHandle;

use crate::fixture::{Folder, open, options};
use crate::shared::claim;
use crate::wal::wal_of;

/// Claims in one commit: enough for the sync to come behind it.
const BATCH: usize = 8;

async fn opened(path: PathBuf, faults: Arc<dyn Faults>) -> Sqlite {
    Sqlite::open(path, SqliteOptions { faults, ..options() }).await.unwrap()
}

fn ids(batch: usize) -> impl Iterator<Item = String> {
    (0..BATCH).map(move |number| format!("OP-{batch}-{number}"))
}

/// Claims a batch; what is awaited is its answers.
fn claim_batch(store: &Sqlite, batch: usize) -> JoinHandle<Result<Vec<Result<StepAnswer>>>> {
    let random = SystemRandom::default();
    let steps = ids(batch).map(|id| claim(store, &random, &id)).collect();
    tokio::spawn(store.act(Arc::new(steps)))
}

/// Syncs that wait until the test lets them go on.
#[derive(Default)]
struct Closed {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Closed {
    /// Waits until a sync stands before its beginning.
    fn reached(&self) {
        let mut state = self.state.lock().unwrap();
        while state.0 == 0 {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    fn count(&self) -> usize {
        self.state.lock().unwrap().0
    }
}

impl Faults for Closed {
    fn reach(&self, point: FaultPoint) {
        if point == FaultPoint::BEFORE_LOG_SYNC {
            let mut state = self.state.lock().unwrap();
            state.0 += 1;
            self.changed.notify_all();
            while !state.1 {
                state = self.changed.wait(state).unwrap();
            }
        }
    }
}

/// Lets everything that can go on go on: tasks that are spawned later end after those that wait for nothing.
async fn settle() {
    for _ in 0..200 {
        tokio::spawn(tokio::task::yield_now()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_a_batch_nor_what_was_read_of_it_is_told_before_its_log_is_synced() {
    let (folder, closed) = (Folder::new(), Arc::new(Closed::default()));
    let store = opened(folder.path(), closed.clone()).await;
    let batch = claim_batch(&store, 0);
    closed.reached();
    let reading = tokio::spawn({
        let store = store.clone();
        async move { store.find(vec![key(&escalates(), "OP-0-0")]).await }
    });
    let again = claim_batch(&store, 0);
    settle().await;
    assert!(!batch.is_finished() && !reading.is_finished() && !again.is_finished());
    closed.open();
    assert_eq!(batch.await.unwrap().unwrap().len(), BATCH);
    assert!(reading.await.unwrap().unwrap()[0].is_some());
    assert_eq!(again.await.unwrap().unwrap().len(), BATCH);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_process_has_not_synced_yet_is_synced_before_it_is_told() {
    let folder = Folder::new();
    let (theirs, ours) = (Arc::new(Closed::default()), Arc::new(Closed::default()));
    let (them, us) = (opened(folder.path(), theirs.clone()).await, opened(folder.path(), ours.clone()).await);
    ours.open();
    let batch = claim_batch(&them, 0);
    theirs.reached();
    assert_eq!(ours.count(), 0);
    let steps = vec![claim(&us, &SystemRandom::default(), "OP-0-0")];
    us.act(Arc::new(steps)).await.unwrap().remove(0).unwrap();
    assert_eq!(ours.count(), 1, "an answer about a row of theirs");
    assert!(!batch.is_finished());
    theirs.open();
    batch.await.unwrap().unwrap();
}

/// What the disk is sure to hold at each sync, and what was acknowledged when the next began.
struct PowerLoss {
    path: PathBuf,
    acknowledged: Arc<Mutex<HashSet<String>>>,
    seen: Mutex<Vec<(Vec<u8>, HashSet<String>)>>,
}

impl Faults for PowerLoss {
    fn reach(&self, point: FaultPoint) {
        if point == FaultPoint::BEFORE_LOG_SYNC {
            let acknowledged = self.acknowledged.lock().unwrap().clone();
            self.seen.lock().unwrap().push((std::fs::read(wal_of(&self.path)).unwrap(), acknowledged));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_is_in_the_log_as_it_was_last_synced() {
    let folder = Folder::new();
    // The database as it is on the disk: nothing is folded into it here.
    drop(open(folder.path()).await.unwrap());
    let database = std::fs::read(folder.path()).unwrap();
    let acknowledged: Arc<Mutex<HashSet<String>>> = Arc::default();
    let power = PowerLoss { path: folder.path(), acknowledged: Arc::clone(&acknowledged), seen: Mutex::default() };
    let power = Arc::new(power);
    let store = opened(folder.path(), power.clone()).await;
    // Batches follow each other without waiting; what one wave is told needs a sync of its own.
    for wave in 0..5 {
        let mut batches = Vec::new();
        for number in wave * 8..(wave + 1) * 8 {
            let (batch, acknowledged) = (claim_batch(&store, number), Arc::clone(&acknowledged));
            batches.push(tokio::spawn(async move {
                batch.await.unwrap().unwrap();
                acknowledged.lock().unwrap().extend(ids(number));
            }));
            tokio::task::yield_now().await;
        }
        for batch in batches {
            batch.await.unwrap();
        }
    }
    assert_eq!(std::fs::read(folder.path()).unwrap(), database, "nothing was folded meanwhile");
    drop(store);
    let seen = std::mem::take(&mut *power.seen.lock().unwrap());
    assert!(seen.len() > 3, "{} syncs", seen.len());
    for (synced, later) in seen.iter().zip(&seen[1..]) {
        let left = Folder::new();
        std::fs::write(left.path(), &database).unwrap();
        std::fs::write(wal_of(&left.path()), &synced.0).unwrap();
        let store = opened(left.path(), Arc::new(NoFaults)).await;
        let keys = later.1.iter().map(|id| key(&escalates(), id)).collect();
        assert!(store.find(keys).await.unwrap().iter().all(Option::is_some), "of {} acknowledged", later.1.len());
    }
}
