//! Permits of callers outside the process: kept from their grant until they report, or until their deadline.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onefold_core::call::CallHealth;
use onefold_core::ledger::AttemptId;
use onefold_core::operation::OperationKey;

use super::Permit;

/// One attempt of one operation.
type RemoteAttempt = (OperationKey, AttemptId);

/// Permits by attempt.
#[derive(Default)]
pub(crate) struct RemotePermits(Mutex<HeldPermits>);

#[derive(Default)]
struct HeldPermits {
    permits: HashMap<RemoteAttempt, (Permit, u64)>,
    /// When each may be given up, by the clock that counts a machine's sleep.
    until: BTreeMap<(Duration, u64), RemoteAttempt>,
    number: u64,
}

impl RemotePermits {
    /// Whether this attempt has its permit: a caller that asks for its grant again does not need a second one.
    pub(crate) fn has(&self, key: &OperationKey, attempt: AttemptId) -> bool {
        self.state().permits.contains_key(&(key.clone(), attempt))
    }

    /// Keeps the permit of a caller that may act until then.
    pub(crate) fn keep(&self, key: OperationKey, attempt: AttemptId, permit: Permit, until: Duration) {
        if permit.is_unlimited() {
            return;
        }
        let mut state = self.state();
        state.number += 1;
        let number = state.number;
        state.until.insert((until, number), (key.clone(), attempt));
        state.permits.insert((key, attempt), (permit, number));
    }

    /// The attempt reported: its permit ends with what that says of the dependency.
    pub(crate) fn end(&self, key: &OperationKey, attempt: AttemptId, health: CallHealth) {
        let ended = self.state().permits.remove(&(key.clone(), attempt));
        if let Some((permit, _)) = ended {
            permit.ended(health);
        }
    }

    /// Gives up the permits of attempts whose deadline has passed: they may not act any more, and said nothing.
    pub(crate) fn expire(&self, now: Duration) {
        let mut over = Vec::new();
        let mut state = self.state();
        while let Some(first) = state.until.first_entry().filter(|first| first.key().0 <= now) {
            let ((_, number), attempt) = first.remove_entry();
            // One that was kept anew since has a later number.
            if state.permits.get(&attempt).is_some_and(|(_, kept)| *kept == number) {
                over.extend(state.permits.remove(&attempt));
            }
        }
        drop(state);
        drop(over);
    }

    fn state(&self) -> MutexGuard<'_, HeldPermits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
