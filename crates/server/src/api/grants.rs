//! How long callers take from their grant to their record.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use onefold_core::ledger::{AttemptId, Lease};

/// When grants of this life began, to measure how long callers take. A forgotten one is not measured.
#[derive(Default)]
pub(crate) struct Grants {
    began: Mutex<HashMap<AttemptId, Instant>>,
}

impl Grants {
    /// Grants that are remembered at most.
    const MAX: usize = 100_000;

    /// A grant was given.
    pub(crate) fn began(&self, lease: &Lease) {
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        if began.len() >= Self::MAX {
            // Callers that never record must not end the measuring of those that do.
            began.clear();
        }
        began.insert(lease.attempt_id, Instant::now());
    }

    /// How long an attempt took; told once.
    pub(crate) fn ended(&self, attempt_id: AttemptId) -> Option<Duration> {
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        began.remove(&attempt_id).map(|at| at.elapsed())
    }
}
