//! What the runtime asks of a store, a clock and chance. Adapters implement these; rules never see them.
//!
//! A store has five sides: [`Act`] moves operations, [`Keep`] does what time and people ask for,
//! [`Look`] reads, [`Share`] holds what everyone on the store shares, [`Tell`] keeps who was told of
//! which incident. They speak of transitions,
//! never of statements.

mod faults;
mod tell;

pub use faults::{Around, FaultPoint, Faults, NoFaults};
pub use tell::{Announcement, IncidentEvent, Sink, Tell};

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::archive::Deletion;
use crate::clock::{Confirmation, ConfirmedTime};
use crate::effect::{Kinds, Retention};
use crate::error::{CodeName, Result};
use crate::fingerprint::Keyring;
use crate::incident::{Group, Incident, IncidentId};
use crate::ledger::{
    self, Attempt, Claim, ClaimRequest, Completion, Decision, Entry, Note, Once, OnceRequest, ReconcileRequest,
    Reconciled, RecordRequest, Recorded, ReleaseRequest, Released, RenewRequest, Renewed, ResolveRequest, Resolved,
    Status, Sweep, SweepReason, TimelineEvent,
};
use crate::operation::{KindName, OperationId, OperationKey, Tenant};
use crate::retry::{Category, Jitter};
use crate::time::Timestamp;

/// A future that a port returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a file or a schema holds before it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// No table, or it does not exist.
    Nothing,
    /// A ledger, of whatever version; tables of others may be beside it.
    Ledger,
    /// Tables of others and no ledger; the first few names.
    OtherTables(Vec<String>),
}

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
        past: Option<&Attempt>,
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

/// Moves operations: claim, record, renew, release.
pub trait Act: Send + Sync {
    /// Decides and writes every step, in order, in one commit; answered only after the commit is durable.
    ///
    /// An error means that nothing of the batch was acknowledged; whether it was written is not
    /// known, and attempt ids make asking again safe. It may block its thread: the runtime calls it
    /// from a thread of its own.
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'_, Result<Vec<Result<StepAnswer>>>>;

    /// Batches that may be under way at once. More than one never blocks its thread.
    fn lanes(&self) -> usize {
        1
    }

    /// One step, carried out right here on the caller's thread, if that is sure to be quick; else nothing is done.
    ///
    /// For a caller that nobody waits beside: a hop to another thread costs it as much as the commit.
    fn act_alone(&self, _step: &Step) -> Option<Result<StepAnswer>> {
        None
    }
}

/// Does what time and people ask for.
pub trait Keep: Send + Sync {
    /// Moves what is overdue: expired leases, retries and questions that nobody makes.
    fn sweep(&self, request: SweepRequest) -> BoxFuture<'_, Result<Swept>>;
    /// Unknown operations of these kinds whose question is due, with the store's time.
    fn due(&self, kinds: Vec<KindName>, limit: usize) -> BoxFuture<'_, Result<Due>>;
    /// The same for somebody who asks now: where a store shares questions out among processes, nobody else is given
    /// these for this long.
    fn take_due(&self, kinds: Vec<KindName>, limit: usize, _hold_for: Duration) -> BoxFuture<'_, Result<Due>> {
        self.due(kinds, limit)
    }
    /// Writes what providers answered.
    fn reconcile(&self, answers: Vec<ReconcileRequest>) -> BoxFuture<'_, Result<Vec<Reconciled>>>;
    /// Writes what people decided.
    fn resolve(&self, requests: Vec<ResolveRequest>) -> BoxFuture<'_, Result<Vec<Result<Resolved>>>>;
    /// Looks at the store's time, and says which time may delete.
    fn confirm_time(&self) -> BoxFuture<'_, Result<Confirmation>>;
    /// Deletes what retention allows.
    fn prune(&self, request: PruneRequest) -> BoxFuture<'_, Result<Pruned>>;
}

/// Reads.
pub trait Look: Send + Sync {
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

/// What everyone on a store shares beside operations: pinned kinds, tokens, and who looked.
pub trait Share: Send + Sync {
    /// Every kind that was pinned.
    fn pinned(&self) -> BoxFuture<'_, Result<Vec<Pinned>>>;
    /// Pins a kind's declaration unless one stands; answers with the one that stands.
    fn pin(&self, kind: Pinned) -> BoxFuture<'_, Result<Pinned>>;
    /// Every token.
    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>>>;
    /// Adds a token, or replaces the one of that name.
    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<()>>;
    /// Forgets a token; answers whether there was one.
    fn drop_token(&self, name: String) -> BoxFuture<'_, Result<bool>>;
    /// Adds a line to an operation's timeline that changes nothing else.
    fn witness(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>>;
}

/// A kind that its first claim declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The kind.
    pub kind: KindName,
    /// Its declaration, as its first claim wrote it.
    pub declaration: Arc<str>,
    /// When.
    pub at: Timestamp,
}

/// A credential, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Who it is.
    pub name: Arc<str>,
    /// What it may do.
    pub role: Arc<str>,
    /// For whom.
    pub tenant: Tenant,
    /// SHA-256 of the secret, which has 256 random bits of its own.
    pub digest: [u8; 32],
    /// Since when.
    pub created_at: Timestamp,
}

/// What a person watches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Operations of which nobody knows the outcome, by category.
    pub unknown: Vec<(Category, u64)>,
    /// Open incidents, by category.
    pub open_incidents: Vec<(Category, u64)>,
}

/// A ledger's store.
pub trait Store: Act + Keep + Look + Share + Tell + 'static {
    /// What it is called in metrics.
    fn name(&self) -> &'static str;
    /// The keys that fingerprints are made with; shared by everyone on this store.
    fn keyring(&self) -> Arc<Keyring>;
    /// Takes an installation's name, where a store can tell whether a living process has it; refused while one has.
    fn hold(&self, installation: &str) -> Result<Hold>;
    /// Remembers outside the database how far it has come, where something was written since; called about once a second.
    ///
    /// Refused with `LEDGER_WENT_BACK` once the database under this process is no longer the one it opened; from then on
    /// every step is refused so.
    fn remember(&self) -> BoxFuture<'_, Result<()>>;
    /// Writes something that takes room and that nobody sees: whether an operation could be claimed now.
    fn probe(&self) -> BoxFuture<'_, Result<()>>;
    /// Called when nothing is under way any more: folds everything into its place, and remembers how far it came.
    fn finish(&self) -> BoxFuture<'_, Result<()>>;
}

/// An installation's name, taken.
pub enum Hold {
    /// No other living process has it while the guard lives, so what an earlier life held is proved dead.
    Alone(Box<dyn Send + Sync>),
    /// Nobody can prove that from here: a connection that ends does not mean a process that ended.
    Unproved,
}

/// A store whose ledger can be written in the user's own transaction.
pub trait Transact: Store {
    /// A connection with a transaction open.
    type Connection: Send;

    /// Checks an operation; where it is to be performed, a savepoint is open when this returns.
    fn enter<'a>(
        &'a self,
        connection: &'a mut Self::Connection,
        request: &'a OnceRequest,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Entered>>;

    /// Ends the savepoint: with the operation's entry, or with nothing of what was done in it.
    fn leave<'a>(
        &'a self,
        connection: &'a mut Self::Connection,
        request: &'a OnceRequest,
        performed: Option<Completion>,
    ) -> BoxFuture<'a, Result<()>>;
}

/// What a transaction finds when it enters an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entered {
    /// The rule's answer.
    Once(Once),
    /// Another transaction is at it.
    InFlight {
        /// When trying again makes sense.
        retry_after: Duration,
    },
}

/// A value whose transaction is committed: what may only come afterwards takes this token.
///
/// It may be lost in a crash, so it is only for what the source brings again.
#[derive(Debug)]
pub struct Committed<T>(T);

impl<T> Committed<T> {
    /// Called by a store, right after the commit was acknowledged.
    pub fn after_commit(value: T) -> Self {
        Self(value)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Committed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

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
    /// Whether the limit was reached.
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
pub struct Due {
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

/// Which operations.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "each narrows the list by the field of that name")]
pub struct Filter {
    pub tenant: Tenant,
    pub id: Option<OperationId>,
    pub kind: Option<KindName>,
    pub status: Option<Status>,
    pub business_key: Option<String>,
    pub process_instance_key: Option<String>,
    pub error_code: Option<CodeName>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// Which incidents.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "each narrows the list by the field of that name")]
pub struct IncidentFilter {
    pub tenant: Tenant,
    pub id: Option<IncidentId>,
    pub open_only: bool,
    pub kind: Option<KindName>,
    pub group: Option<String>,
}

/// A part of a list.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Where the previous part ended.
    pub after: Option<i64>,
    /// Rows at most.
    pub limit: usize,
}

impl Page {
    /// Rows a page may have.
    pub const LIMIT_MAX: usize = 1000;
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, limit: 100 }
    }
}

/// A part of a list, and where the next one begins.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Hand this to [`Page::after`] for more.
    pub next: Option<i64>,
}

/// Time, asked for in one place.
pub trait Clock: Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;
    /// Time that never goes back, and may stand still while the machine sleeps.
    fn monotonic(&self) -> Duration;
    /// Time that never goes back and counts the machine's sleep.
    fn boot(&self) -> Duration;
    /// Waits.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()>;
}

/// Chance, asked for in one place.
pub trait Random: Send + Sync {
    /// Sixteen random bytes.
    fn bytes(&self) -> [u8; 16];
}
