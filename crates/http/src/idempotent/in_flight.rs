//! Attempts in flight in this process, and the requests that wait for their end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use onefold_core::operation::OperationKey;
use tokio::sync::watch;

use super::stored::StoredAnswer;

/// How an attempt of this process ended, for those who waited here.
#[derive(Debug, Clone)]
pub(super) enum InFlightResult {
    /// Surely nothing took hold: they get the same answer.
    NotApplied(Arc<StoredAnswer>),
    /// Nothing was sent: they are refused in the same way.
    NotSent(StatusCode, Arc<str>),
    /// The ledger knows.
    Recorded,
}

/// The requests of one operation in this process, and the end of its last attempt here.
#[derive(Debug)]
struct Slot {
    ended: watch::Sender<Option<InFlightResult>>,
    in_flight: usize,
}

type Slots = Arc<Mutex<HashMap<OperationKey, Slot>>>;

/// The attempts of one route that are in flight here.
#[derive(Debug, Default, Clone)]
pub(super) struct InFlightMap {
    slots: Slots,
}

impl InFlightMap {
    /// Watches an operation from now on. A request that does so before it claims hears of every attempt that ends here after
    /// its claim was refused as in flight, however quickly that attempt ends.
    pub(super) fn watch(&self, key: &OperationKey) -> Watch {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(key.clone()).or_insert_with(Slot::new);
        Watch { ended: Some(slot.ended.subscribe()), key: key.clone(), map: self.clone() }
    }

    /// An attempt begins.
    pub(super) fn begin(&self, key: OperationKey) -> InFlightEntry {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(key.clone()).or_insert_with(Slot::new).in_flight += 1;
        drop(slots);
        InFlightEntry { map: self.clone(), key, result: InFlightResult::Recorded }
    }

    fn end(&self, key: &OperationKey, result: InFlightResult) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(key) {
            slot.in_flight = slot.in_flight.saturating_sub(1);
            slot.ended.send_replace(Some(result));
        }
        Self::forget(&mut slots, key);
    }

    /// Forgets an operation that nothing here refers to any more.
    fn forget(slots: &mut HashMap<OperationKey, Slot>, key: &OperationKey) {
        if slots.get(key).is_some_and(|slot| slot.in_flight == 0 && slot.ended.receiver_count() == 0) {
            slots.remove(key);
        }
    }
}

impl Slot {
    fn new() -> Self {
        Self { ended: watch::Sender::new(None), in_flight: 0 }
    }
}

/// A request that watches its operation.
#[derive(Debug)]
pub(super) struct Watch {
    map: InFlightMap,
    key: OperationKey,
    ended: Option<watch::Receiver<Option<InFlightResult>>>,
}

impl Watch {
    /// The end of an attempt here, once there is one; never where none ends.
    pub(super) async fn ended(&mut self) -> InFlightResult {
        let Some(ended) = &mut self.ended else { return std::future::pending().await };
        match ended.changed().await {
            Ok(()) => ended.borrow_and_update().clone().unwrap_or(InFlightResult::Recorded),
            Err(_) => std::future::pending().await,
        }
    }

    /// Whether an attempt is in flight here, or has ended here unheard: then [`Watch::ended`] will say how.
    pub(super) fn expects(&self) -> bool {
        let slots = self.map.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let unheard = self.ended.as_ref().is_some_and(|ended| ended.has_changed().unwrap_or(false));
        unheard || slots.get(&self.key).is_some_and(|slot| slot.in_flight > 0)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut slots = self.map.slots.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended = None;
        InFlightMap::forget(&mut slots, &self.key);
    }
}

/// One attempt in flight; its watchers are told when it ends, however it does.
#[derive(Debug)]
pub(super) struct InFlightEntry {
    map: InFlightMap,
    key: OperationKey,
    result: InFlightResult,
}

impl InFlightEntry {
    /// It ended.
    pub(super) fn end(mut self, result: InFlightResult) {
        self.result = result;
    }
}

impl Drop for InFlightEntry {
    fn drop(&mut self) {
        let result = std::mem::replace(&mut self.result, InFlightResult::Recorded);
        self.map.end(&self.key, result);
    }
}

#[cfg(test)]
mod tests {
    use onefold_core::operation::{KindName, OperationId, Tenant};

    use super::*;

    fn key() -> OperationKey {
        let (kind, id) = (KindName::parse("pay").unwrap(), OperationId::parse("K-1").unwrap());
        OperationKey::new(Tenant::default(), kind, id)
    }

    fn not_sent() -> InFlightResult {
        InFlightResult::NotSent(StatusCode::BAD_GATEWAY, Arc::from("no connection"))
    }

    #[tokio::test]
    async fn a_watcher_from_before_an_attempt_hears_its_end_however_quickly_it_came() {
        let map = InFlightMap::default();
        let mut watch = map.watch(&key());
        assert!(!watch.expects());
        let flight = map.begin(key());
        assert!(watch.expects());
        flight.end(not_sent());
        assert!(watch.expects());
        assert!(matches!(watch.ended().await, InFlightResult::NotSent(..)));
        assert!(!watch.expects());
    }

    #[tokio::test]
    async fn a_watcher_that_comes_after_the_end_does_not_hear_of_it() {
        let map = InFlightMap::default();
        let first = map.watch(&key());
        map.begin(key()).end(not_sent());
        let mut late = map.watch(&key());
        assert!(!late.expects());
        // An attempt that ends without a word says that the ledger knows.
        drop(map.begin(key()));
        assert!(matches!(late.ended().await, InFlightResult::Recorded));
        drop((first, late));
        assert!(map.slots.lock().unwrap().is_empty());
    }
}
