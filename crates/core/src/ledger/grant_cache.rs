//! What this process granted and has not heard of since: its record can be decided without reading.
//!
//! While an entry is STARTED under one fence, only its lease and its incident can change, and
//! no record of a completion depends on the lease. Each store's `queries/ledger/settle.sql` compares the rest: a
//! row that is no longer the grant is not written, and is then read and decided as any other.

use std::collections::HashMap;

use super::{Entry, RecordRequest};
use crate::operation::OperationKey;

/// Grants that are remembered at most; more than that are in flight only where reading does not matter.
const GRANTS_MAX: usize = 8_192;

/// Entries as they were granted.
#[derive(Debug, Default)]
pub struct GrantCache {
    entries: HashMap<OperationKey, Entry>,
}

impl GrantCache {
    /// Remembers what a commit granted.
    pub fn keep(&mut self, granted: Vec<Entry>) {
        if self.entries.len() + granted.len() > GRANTS_MAX {
            self.entries.clear();
        }
        self.entries.extend(granted.into_iter().map(|entry| (entry.key.clone(), entry)));
    }

    /// The grant that a record speaks of.
    pub fn take(&mut self, request: &RecordRequest) -> Option<Entry> {
        let entry = self.entries.remove(&request.key)?;
        (entry.fence == request.fence && entry.attempt_id == request.attempt_id).then_some(entry)
    }
}
