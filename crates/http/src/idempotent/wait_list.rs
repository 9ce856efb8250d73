//! Waiting for attempts of other processes: one question to the ledger for all who wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{Gauge, gauge};
use onefold_core::ledger::{Entry, Status};
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::port::Store;
use onefold_runtime::Ledger;
use tokio::sync::watch;

/// The ledger is asked this often at first, and less often the longer nothing changes.
const LOOK_FIRST: Duration = Duration::from_millis(25);
const LOOK_LAST: Duration = Duration::from_millis(250);

type LatestEntry = Option<Arc<Entry>>;

/// Everyone of this process who waits for an operation.
pub(super) struct WaitList<S> {
    ledger: Ledger<S>,
    state: Arc<Mutex<WaitState>>,
    waiters_max: usize,
    gauge: Gauge,
}

impl<S> Clone for WaitList<S> {
    fn clone(&self) -> Self {
        let (state, gauge) = (Arc::clone(&self.state), self.gauge.clone());
        Self { ledger: self.ledger.clone(), state, waiters_max: self.waiters_max, gauge }
    }
}

#[derive(Default)]
struct WaitState {
    awaited: HashMap<OperationKey, watch::Sender<LatestEntry>>,
    waiting: usize,
    looking: bool,
}

impl<S: Store> WaitList<S> {
    pub(super) fn new(ledger: &Ledger<S>, route: &KindName, waiters_max: usize) -> Self {
        let gauge = gauge!("onefold_route_waiting", "route" => route.to_string());
        Self { ledger: ledger.clone(), state: Arc::default(), waiters_max, gauge }
    }

    /// How many wait now.
    pub(super) fn waiting(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting
    }

    /// A permit to wait until the attempt of an operation has ended; none once `waiters_max` wait.
    pub(super) fn wait_for(&self, key: &OperationKey) -> Option<WaitPermit> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.waiting >= self.waiters_max {
            return None;
        }
        state.waiting += 1;
        let seen = state.awaited.entry(key.clone()).or_insert_with(|| watch::Sender::new(None)).subscribe();
        if !state.looking {
            state.looking = true;
            tokio::spawn(self.clone().look());
        }
        self.gauge.increment(1.0);
        Some(WaitPermit { seen, state: Arc::clone(&self.state), gauge: self.gauge.clone() })
    }

    /// Looks for all of them, until nobody waits.
    async fn look(self) {
        let mut pause = LOOK_FIRST;
        loop {
            tokio::time::sleep(pause).await;
            let Some(keys) = self.awaited() else { return };
            let changed = match self.ledger.store().find(keys.clone()).await {
                Ok(entries) => self.tell(keys, entries),
                // A waiter asks again later, or is told to.
                Err(error) => {
                    tracing::debug!(error_code = %error.code(), "awaited operations not read");
                    false
                }
            };
            pause = if changed { LOOK_FIRST } else { (pause * 2).min(LOOK_LAST) };
        }
    }

    /// The operations that someone waits for; none ends the loop.
    fn awaited(&self) -> Option<Vec<OperationKey>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.awaited.retain(|_, sender| sender.receiver_count() > 0);
        state.looking = !state.awaited.is_empty();
        state.looking.then(|| state.awaited.keys().cloned().collect())
    }

    fn tell(&self, keys: Vec<OperationKey>, entries: Vec<Option<Entry>>) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = false;
        for (key, entry) in keys.into_iter().zip(entries) {
            let Some(entry) = entry.filter(|entry| entry.status != Status::Started) else { continue };
            if let Some(sender) = state.awaited.remove(&key) {
                sender.send_replace(Some(Arc::new(entry)));
                changed = true;
            }
        }
        changed
    }
}

/// One who waits.
pub(super) struct WaitPermit {
    seen: watch::Receiver<LatestEntry>,
    state: Arc<Mutex<WaitState>>,
    gauge: Gauge,
}

impl WaitPermit {
    /// The operation when its attempt has ended.
    pub(super) async fn ended(&mut self) -> Option<Arc<Entry>> {
        let seen = self.seen.wait_for(Option::is_some).await.ok()?;
        seen.clone()
    }
}

impl Drop for WaitPermit {
    fn drop(&mut self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting -= 1;
        self.gauge.decrement(1.0);
    }
}
