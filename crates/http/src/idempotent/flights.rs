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

/// The attempts of one route that are under way here.
#[derive(Debug, Default, Clone)]
pub(super) struct Flights {
    under_way: Arc<Mutex<HashMap<OperationKey, watch::Sender<Option<Landed>>>>>,
}

impl Flights {
    /// An attempt begins.
    pub(super) fn begin(&self, key: OperationKey) -> Flight {
        let sender = watch::Sender::new(None);
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), sender);
        Flight { flights: self.clone(), key: Some(key) }
    }

    /// The end of the attempt at this operation, if it is under way here.
    pub(super) fn watch(&self, key: &OperationKey) -> Option<watch::Receiver<Option<Landed>>> {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.get(key).map(watch::Sender::subscribe)
    }

    fn end(&self, key: &OperationKey, landed: Landed) {
        let sender = self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        if let Some(sender) = sender {
            sender.send_replace(Some(landed));
        }
    }
}

/// One attempt under way; whoever waits is told when it ends, however it does.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Flights,
    key: Option<OperationKey>,
}

impl Flight {
    /// It ended.
    pub(super) fn land(mut self, landed: Landed) {
        if let Some(key) = self.key.take() {
            self.flights.end(&key, landed);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.flights.end(&key, Landed::Look);
        }
    }
}
