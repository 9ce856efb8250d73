//! Waiting for attempts of other processes: one question to the ledger for all who wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{Gauge, gauge};
use onefold_core::ledger::{Entry, Status};
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::ports::Store;
use onefold_runtime::Ledger;
use tokio::sync::watch;

/// The ledger is asked this often at first, and less often the longer nothing changes.
const LOOK_FIRST: Duration = Duration::from_millis(25);
const LOOK_LAST: Duration = Duration::from_millis(250);

type Seen = Option<Arc<Entry>>;

/// Everyone of this process who waits for an operation.
pub(super) struct Waiters<S> {
    ledger: Ledger<S>,
    room: Arc<Mutex<Room>>,
    places: usize,
    gauge: Gauge,
}

impl<S> Clone for Waiters<S> {
    fn clone(&self) -> Self {
        let (room, gauge) = (Arc::clone(&self.room), self.gauge.clone());
        Self { ledger: self.ledger.clone(), room, places: self.places, gauge }
    }
}

#[derive(Default)]
struct Room {
    awaited: HashMap<OperationKey, watch::Sender<Seen>>,
    waiting: usize,
    looking: bool,
}

impl<S: Store> Waiters<S> {
    pub(super) fn new(ledger: &Ledger<S>, route: &KindName, waiters_max: usize) -> Self {
        let gauge = gauge!("onefold_route_waiting", "route" => route.to_string());
        Self { ledger: ledger.clone(), room: Arc::default(), places: waiters_max, gauge }
    }

    /// How many wait now.
    pub(super) fn waiting(&self) -> usize {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).waiting
    }

    /// A place to wait for an operation until its attempt has ended; none where all are taken.
    pub(super) fn wait_for(&self, key: &OperationKey) -> Option<Waiting> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if room.waiting >= self.places {
            return None;
        }
        room.waiting += 1;
        let seen = room.awaited.entry(key.clone()).or_insert_with(|| watch::Sender::new(None)).subscribe();
        if !room.looking {
            room.looking = true;
            tokio::spawn(self.clone().look());
        }
        self.gauge.increment(1.0);
        Some(Waiting { seen, room: Arc::clone(&self.room), gauge: self.gauge.clone() })
    }

    /// Looks for all of them, until nobody waits.
    async fn look(self) {
        let mut pause = LOOK_FIRST;
        loop {
            tokio::time::sleep(pause).await;
            let Some(keys) = self.awaited() else { return };
            let changed = match self.ledger.store().find(keys.clone()).await {
                Ok(entries) => self.tell(keys, entries),
                // Whoever waits asks again later, or is told to.
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
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        room.awaited.retain(|_, sender| sender.receiver_count() > 0);
        room.looking = !room.awaited.is_empty();
        room.looking.then(|| room.awaited.keys().cloned().collect())
    }

    fn tell(&self, keys: Vec<OperationKey>, entries: Vec<Option<Entry>>) -> bool {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = false;
        for (key, entry) in keys.into_iter().zip(entries) {
            let Some(entry) = entry.filter(|entry| entry.status != Status::Started) else { continue };
            if let Some(sender) = room.awaited.remove(&key) {
                sender.send_replace(Some(Arc::new(entry)));
                changed = true;
            }
        }
        changed
    }
}

/// One who waits.
pub(super) struct Waiting {
    seen: watch::Receiver<Seen>,
    room: Arc<Mutex<Room>>,
    gauge: Gauge,
}

impl Waiting {
    /// The operation when its attempt has ended.
    pub(super) async fn ended(&mut self) -> Option<Arc<Entry>> {
        let seen = self.seen.wait_for(Option::is_some).await.ok()?;
        seen.clone()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).waiting -= 1;
        self.gauge.decrement(1.0);
    }
}
