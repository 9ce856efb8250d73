//! What the runtime asks of a ledger: moves, upkeep, reads.

use std::sync::Arc;
use std::time::Duration;

use super::BoxFuture;
use super::listing::{Counts, Filter, IncidentFilter, Listed, Page};
use super::maintenance::{DueQuestions, PruneRequest, Pruned, SweepRequest, Swept};
use crate::clock::Confirmation;
use crate::error::Result;
use crate::incident::{Group, Incident};
use crate::ledger::{
    self, Claim, ClaimRequest, Decision, Entry, Note, PastAttempt, ReconcileRequest, Reconciled, RecordRequest,
    Recorded, ReleaseRequest, Released, RenewRequest, Renewed, ResolveRequest, Resolved, Status, TimelineEvent,
};
use crate::operation::{KindName, OperationKey, Tenant};
use crate::time::Timestamp;

/// One move of an operation.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each is documented at its request")]
pub enum Step {
    Claim(Box<ClaimRequest>),
    Record(Box<RecordRequest>),
    Renew(RenewRequest),
    Release(ReleaseRequest),
}

/// The answer to a step, of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented at its answer")]
pub enum StepAnswer {
    Claim(Claim),
    Record(Recorded),
    Renew(Renewed),
    Release(Released),
}

impl Step {
    /// The operation that it moves.
    pub fn key(&self) -> &OperationKey {
        match self {
            Self::Claim(request) => &request.key,
            Self::Record(request) => &request.key,
            Self::Renew(request) => &request.key,
            Self::Release(request) => &request.key,
        }
    }

    /// The fence of the kept attempt that must be looked at before this can be decided.
    pub fn past_fence(&self, entry: Option<&Entry>) -> Option<u64> {
        let entry = entry?;
        // What the present attempt said, or that it fell silent, is kept once the operation has moved on.
        let moved_on = entry.status != Status::Started && entry.recorded.is_none();
        match self {
            Self::Record(request) => {
                (request.fence < entry.fence || request.fence == entry.fence && moved_on).then_some(request.fence)
            }
            Self::Release(request) => (request.fence == entry.fence && moved_on).then_some(request.fence),
            Self::Claim(_) | Self::Renew(_) => None,
        }
    }

    /// The rule's answer, and what it changes.
    pub fn decide(
        &self,
        entry: Option<&Entry>,
        past: Option<&PastAttempt>,
        now: Timestamp,
    ) -> Result<Decision<StepAnswer>> {
        Ok(match self {
            Self::Claim(request) => ledger::decide(entry, request, now)?.map(StepAnswer::Claim),
            Self::Record(request) => ledger::record(entry, past, request, now).map(StepAnswer::Record),
            Self::Renew(request) => ledger::renew(entry, request, now).map(StepAnswer::Renew),
            Self::Release(request) => ledger::release(entry, past, request, now).map(StepAnswer::Release),
        })
    }
}

/// Moves operations: claim, record, renew, release, and what people decide.
pub trait LedgerWrite: Send + Sync {
    /// Decides and writes every step, in order, in one commit; answered only after the commit is durable.
    ///
    /// An error means that nothing of the batch was acknowledged; whether it was written is not
    /// known, and attempt ids make asking again safe. The call itself may block its thread, the future may not: the
    /// runtime calls it from a thread of its own, and awaits it elsewhere.
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'static, Result<Vec<Result<StepAnswer>>>>;

    /// Batches that may be in flight at once.
    fn batches_in_flight_max(&self) -> usize {
        1
    }

    /// One step, carried out right here on the caller's thread, if that is sure to be quick; else nothing is done.
    ///
    /// For a caller when there is no other: a hop to another thread costs it as much as the commit.
    fn act_inline(&self, _step: &Step) -> Option<Result<StepAnswer>> {
        None
    }
    /// Writes what people decided.
    fn resolve(&self, requests: Vec<ResolveRequest>) -> BoxFuture<'_, Result<Vec<Result<Resolved>>>>;
    /// Adds a line to an operation's timeline that changes nothing else.
    fn append_audit(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>>;
}

/// Does what time asks for: sweep, reconcile, prune.
pub trait LedgerMaintenance: Send + Sync {
    /// Moves what is overdue: expired leases, retries and questions that are overdue.
    fn sweep(&self, request: SweepRequest) -> BoxFuture<'_, Result<Swept>>;
    /// Unknown operations of these kinds whose question is due, with the store's time.
    fn due(&self, kinds: Vec<KindName>, limit: usize) -> BoxFuture<'_, Result<DueQuestions>>;
    /// The same for somebody who asks now: where a store shares questions out among processes, nobody else is given
    /// these for this long.
    fn take_due(&self, kinds: Vec<KindName>, limit: usize, _hold_for: Duration) -> BoxFuture<'_, Result<DueQuestions>> {
        self.due(kinds, limit)
    }
    /// Writes what providers answered.
    fn reconcile(&self, answers: Vec<ReconcileRequest>) -> BoxFuture<'_, Result<Vec<Reconciled>>>;
    /// Looks at the store's time, and says which time may delete.
    fn confirm_time(&self) -> BoxFuture<'_, Result<Confirmation>>;
    /// Deletes what retention allows.
    fn prune(&self, request: PruneRequest) -> BoxFuture<'_, Result<Pruned>>;
}

/// Reads.
pub trait LedgerRead: Send + Sync {
    /// These operations, where they exist.
    fn find(&self, keys: Vec<OperationKey>) -> BoxFuture<'_, Result<Vec<Option<Entry>>>>;
    /// Operations, newest first.
    fn list(&self, filter: Filter, page: Page) -> BoxFuture<'_, Result<Listed<Entry>>>;
    /// The story of an operation.
    fn timeline(&self, key: OperationKey) -> BoxFuture<'_, Result<Option<Vec<TimelineEvent>>>>;
    /// Incidents, newest first.
    fn incidents(&self, filter: IncidentFilter, page: Page) -> BoxFuture<'_, Result<Listed<Incident>>>;
    /// Open incidents by cause, the largest first.
    fn groups(&self, tenant: Tenant) -> BoxFuture<'_, Result<Vec<Group>>>;
    /// What waits for a person, of every tenant.
    fn counts(&self) -> BoxFuture<'_, Result<Counts>>;
}
