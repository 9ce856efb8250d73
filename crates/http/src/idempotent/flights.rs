//! Attempts under way in this process, and who waits for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onefold_core::operation::OperationKey;
use tokio::sync::watch;

use super::stored::StoredAnswer;

/// How an attempt of this process ended, for those who waited here.
#[derive(Debug, Clone)]
pub(super) enum Landed {
    /// Surely nothing took hold: they get the same answer.
    NotApplied(Arc<StoredAnswer>),
    /// The ledger knows.
    Look,
}

/// Tells those who wait.
type Told = Arc<watch::Sender<Option<Landed>>>;

/// The attempts of one route that are under way here.
#[derive(Debug, Default, Clone)]
pub(super) struct Flights {
    under_way: Arc<Mutex<HashMap<OperationKey, Told>>>,
}

impl Flights {
    /// An attempt begins.
    pub(super) fn begin(&self, key: OperationKey) -> Flight {
        let told = Arc::new(watch::Sender::new(None));
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), Arc::clone(&told));
        Flight { flights: self.clone(), key, told: Some(told) }
    }

    /// The end of the attempt at this operation, if it is under way here.
    pub(super) fn watch(&self, key: &OperationKey) -> Option<watch::Receiver<Option<Landed>>> {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.get(key).map(|told| told.subscribe())
    }

    /// Forgets an attempt, unless a newer one at the same operation has taken its place.
    fn end(&self, key: &OperationKey, told: &Told) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.get(key).is_some_and(|known| Arc::ptr_eq(known, told)) {
            under_way.remove(key);
        }
    }
}

/// One attempt under way; whoever waits is told when it ends, however it does.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Flights,
    key: OperationKey,
    told: Option<Told>,
}

impl Flight {
    /// It ended.
    pub(super) fn land(mut self, landed: Landed) {
        self.tell(landed);
    }

    fn tell(&mut self, landed: Landed) {
        if let Some(told) = self.told.take() {
            self.flights.end(&self.key, &told);
            told.send_replace(Some(landed));
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.tell(Landed::Look);
    }
}
