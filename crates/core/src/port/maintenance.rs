//! What a sweep, a question and a prune are asked for, and what they answer.

use std::sync::Arc;
use std::time::Duration;

use crate::archive::Deletion;
use crate::clock::ConfirmedTime;
use crate::effect::{Kinds, Retention};
use crate::error::Result;
use crate::ledger::{Entry, Status, Sweep, SweepReason};
use crate::operation::KindName;
use crate::retry::Jitter;
use crate::time::Timestamp;

/// What the sweeper looks for.
#[derive(Debug, Clone)]
pub struct SweepRequest {
    /// The kinds this process knows.
    pub kinds: Arc<Kinds>,
    /// Which entries.
    pub scope: SweepScope,
    /// Added to expiry tests of kinds it does not know.
    pub clock_slack: Duration,
    /// The sweeper's draw.
    pub seed: u32,
    /// Entries a sweep moves at most.
    pub limit: usize,
}

impl SweepRequest {
    /// The sweep of the entry at this place in a slice, of this kind.
    pub fn sweep(&self, reason: SweepReason, index: usize, kind: &KindName) -> Sweep<'_> {
        let draw = self.seed.wrapping_mul(2_654_435_769).wrapping_add(u32::try_from(index).unwrap_or(0) << 16);
        let terms = self.kinds.get(kind).map(|terms| &**terms);
        Sweep { reason, terms, clock_slack: self.clock_slack, jitter: Jitter(draw) }
    }
}

/// Which entries a sweep looks at.
#[derive(Debug, Clone)]
pub enum SweepScope {
    /// Whatever is overdue.
    Overdue,
    /// Whatever the `perform` of this installation held in a life that is proved dead.
    DeadHolder(Arc<str>),
}

/// What a sweep moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Entries that may be attempted again.
    pub to_retry: usize,
    /// Entries whose provider is asked.
    pub to_ask: usize,
    /// Entries that a person is asked about.
    pub to_person: usize,
    /// Whether there may be more to move.
    pub more: bool,
}

impl Swept {
    /// Entries moved.
    pub fn total(self) -> usize {
        self.to_retry + self.to_ask + self.to_person
    }

    /// Counts an entry that was moved.
    pub fn count(&mut self, moved: &Entry) {
        match moved.status {
            Status::FailedRetryable => self.to_retry += 1,
            Status::Unknown if moved.next_ask_at.is_some() => self.to_ask += 1,
            Status::Unknown | Status::FailedFinal | Status::Started | Status::Completed | Status::Released => {
                self.to_person += 1;
            }
        }
    }
}

/// Questions that are due.
#[derive(Debug, Clone)]
pub struct DueQuestions {
    /// The store's time when it looked.
    pub now: Timestamp,
    /// The operations to ask about.
    pub entries: Vec<Entry>,
}

/// What may be deleted.
#[derive(Clone)]
pub struct PruneRequest {
    /// By which time.
    pub by: ConfirmedTime,
    /// Retention per kind; a kind that is not named is kept.
    pub rules: Vec<(KindName, Retention)>,
    /// Rows a call touches at most: a prune never holds a long transaction.
    pub limit: usize,
    /// Where everything that is deleted is written first.
    pub archive: Option<Arc<dyn Archive>>,
    /// Count, but change nothing.
    pub dry_run: bool,
}

/// What a prune did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Operations deleted: a duplicate of one of them **is performed**.
    pub operations: usize,
    /// Results dropped: a duplicate is told so.
    pub results: usize,
    /// Whether the limit was reached.
    pub more: bool,
}

/// Keeps what a prune deletes.
pub trait Archive: Send + Sync {
    /// Writes these durably; the rows are deleted only after it said yes, and only as they were written. It may block.
    fn keep(&self, deletion: &Deletion) -> Result<()>;
}
