//! Attempts under way in this process, and the requests that wait for their end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use onefold_core::operation::OperationKey;
use tokio::sync::watch;

use super::stored::StoredAnswer;

/// How an attempt of this process ended, for those who waited here.
#[derive(Debug, Clone)]
pub(super) enum Landed {
    /// Surely nothing took hold: they get the same answer.
    NotApplied(Arc<StoredAnswer>),
    /// Nothing was sent: they are refused in the same way.
    NotSent(StatusCode, Arc<str>),
    /// The ledger knows.
    Look,
}

/// The requests of one operation in this process, and the end of its last attempt here.
#[derive(Debug)]
struct Slot {
    ended: watch::Sender<Option<Landed>>,
    under_way: usize,
}

type Slots = Arc<Mutex<HashMap<OperationKey, Slot>>>;

/// The attempts of one route that are under way here.
#[derive(Debug, Default, Clone)]
pub(super) struct Flights {
    slots: Slots,
}

impl Flights {
    /// Watches an operation from now on. Whoever does so before it claims hears of every attempt that ends here after
    /// its claim was refused as in flight, however quickly that attempt ends.
    pub(super) fn watch(&self, key: &OperationKey) -> Watch {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(key.clone()).or_insert_with(Slot::new);
        Watch { ended: Some(slot.ended.subscribe()), key: key.clone(), flights: self.clone() }
    }

    /// An attempt begins.
    pub(super) fn begin(&self, key: OperationKey) -> Flight {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(key.clone()).or_insert_with(Slot::new).under_way += 1;
        drop(slots);
        Flight { flights: self.clone(), key, landed: Landed::Look }
    }

    fn end(&self, key: &OperationKey, landed: Landed) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(key) {
            slot.under_way = slot.under_way.saturating_sub(1);
            slot.ended.send_replace(Some(landed));
        }
        Self::forget(&mut slots, key);
    }

    /// Forgets an operation that nobody here has to do with any more.
    fn forget(slots: &mut HashMap<OperationKey, Slot>, key: &OperationKey) {
        if slots.get(key).is_some_and(|slot| slot.under_way == 0 && slot.ended.receiver_count() == 0) {
            slots.remove(key);
        }
    }
}

impl Slot {
    fn new() -> Self {
        Self { ended: watch::Sender::new(None), under_way: 0 }
    }
}

/// A request that watches its operation.
#[derive(Debug)]
pub(super) struct Watch {
    flights: Flights,
    key: OperationKey,
    ended: Option<watch::Receiver<Option<Landed>>>,
}

impl Watch {
    /// The end of an attempt here, once there is one; never where none ends.
    pub(super) async fn ended(&mut self) -> Landed {
        let Some(ended) = &mut self.ended else { return std::future::pending().await };
        match ended.changed().await {
            Ok(()) => ended.borrow_and_update().clone().unwrap_or(Landed::Look),
            Err(_) => std::future::pending().await,
        }
    }

    /// Whether an attempt is under way here, or has ended here unheard: then [`Watch::ended`] will say how.
    pub(super) fn expects(&self) -> bool {
        let slots = self.flights.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let unheard = self.ended.as_ref().is_some_and(|ended| ended.has_changed().unwrap_or(false));
        unheard || slots.get(&self.key).is_some_and(|slot| slot.under_way > 0)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut slots = self.flights.slots.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended = None;
        Flights::forget(&mut slots, &self.key);
    }
}

/// One attempt under way; whoever watches is told when it ends, however it does.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Flights,
    key: OperationKey,
    landed: Landed,
}

impl Flight {
    /// It ended.
    pub(super) fn land(mut self, landed: Landed) {
        self.landed = landed;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let landed = std::mem::replace(&mut self.landed, Landed::Look);
        self.flights.end(&self.key, landed);
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

    fn not_sent() -> Landed {
        Landed::NotSent(StatusCode::BAD_GATEWAY, Arc::from("no connection"))
    }

    #[tokio::test]
    async fn whoever_watched_before_an_attempt_hears_its_end_however_quickly_it_came() {
        let flights = Flights::default();
        let mut watch = flights.watch(&key());
        assert!(!watch.expects());
        let flight = flights.begin(key());
        assert!(watch.expects());
        flight.land(not_sent());
        assert!(watch.expects());
        assert!(matches!(watch.ended().await, Landed::NotSent(..)));
        assert!(!watch.expects());
    }

    #[tokio::test]
    async fn whoever_comes_after_the_end_does_not_hear_of_it() {
        let flights = Flights::default();
        let first = flights.watch(&key());
        flights.begin(key()).land(not_sent());
        let mut late = flights.watch(&key());
        assert!(!late.expects());
        // An attempt that ends without a word says that the ledger knows.
        drop(flights.begin(key()));
        assert!(matches!(late.ended().await, Landed::Look));
        drop((first, late));
        assert!(flights.slots.lock().unwrap().is_empty());
    }
}
