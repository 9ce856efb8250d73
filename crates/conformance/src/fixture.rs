//! A store with a clock and chance of its own, and short ways to ask it.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::clock::{Confirmation, ConfirmedTime};
use onefold_core::effect::{KindSpec, Kinds};
use onefold_core::error::Result;
use onefold_core::fingerprint::FingerprintInput;
use onefold_core::incident::Incident;
use onefold_core::ledger::{
    AttemptId, Claim, ClaimRequest, Entry, Holder, Lease, Origin, Outcome, Question, ReconcileRequest, Reconciled,
    ReconcilerAnswer, RecordRequest, Recorded, ReleaseReason, ReleaseRequest, Released, RenewRequest, Renewed,
    ResolveRequest, Resolved, Source, Status, TimelineEvent, Verb,
};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::port::{
    Clock as _, IncidentFilter, LedgerMaintenance as _, LedgerRead as _, LedgerWrite as _, Page, Random as _, Step,
    StepAnswer, Store as _, SweepRequest, SweepScope, Swept,
};
use onefold_core::retry::Jitter;
use onefold_testing::{ManualClock, SeededRandom, seed};

use crate::harness::Harness;
use crate::kinds;

/// A store under test.
pub struct StoreFixture<H: Harness> {
    /// Its time.
    pub clock: Arc<ManualClock>,
    /// Its chance.
    pub random: Arc<SeededRandom>,
    harness: H,
    store: Option<Arc<H::Store>>,
}

impl<H: Harness> StoreFixture<H> {
    /// A fresh store.
    pub async fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let random = Arc::new(SeededRandom::new(seed("ONEFOLD_SEED")));
        let harness = H::fresh().await;
        let store = Some(Arc::new(harness.open(clock.clone(), random.clone()).await));
        Self { clock, random, harness, store }
    }

    /// Closes the store and opens what it left behind.
    pub async fn reopen(&mut self) {
        self.store = None;
        self.store = Some(Arc::new(self.harness.open(self.clock.clone(), self.random.clone()).await));
    }

    /// The store itself.
    pub fn store(&self) -> &Arc<H::Store> {
        self.store.as_ref().expect("a fixture has its store open")
    }

    /// The time that may delete, which is the present one unless it jumped.
    pub async fn confirmed(&self) -> ConfirmedTime {
        match self.store().confirm_time().await.expect("the clock is looked at") {
            Confirmation::Confirmed(by) | Confirmation::Earlier(by, _) => by,
            Confirmation::Waiting(jump) => panic!("{}", jump.error()),
        }
    }

    /// Time goes on.
    pub fn wait(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A fresh attempt id.
    pub fn attempt(&self) -> AttemptId {
        AttemptId::from_random(self.random.bytes())
    }

    /// A claim of an operation of this kind, for a caller outside the process.
    pub fn claim_of(&self, terms: &Arc<KindSpec>, id: &str) -> ClaimRequest {
        self.claim_for(terms, id, b"{\"amount\":5}")
    }

    /// The same with this request.
    pub fn claim_for(&self, terms: &Arc<KindSpec>, id: &str, input: &[u8]) -> ClaimRequest {
        let input = FingerprintInput::new(input, &terms.fingerprint, &self.store().keyring())
            .expect("the input has a fingerprint");
        ClaimRequest {
            key: key(terms, id),
            input,
            attempt_id: self.attempt(),
            terms: Arc::clone(terms),
            origin: Origin::new(Source::Api),
            holder: Holder { worker: Arc::from("host/1"), installation: None },
            jitter: Jitter(0),
        }
    }

    /// Asks for one grant.
    pub async fn claim(&self, request: ClaimRequest) -> Claim {
        match self.step(Step::Claim(Box::new(request))).await {
            StepAnswer::Claim(claim) => claim,
            other => panic!("a claim was answered with {other:?}"),
        }
    }

    /// A grant of an operation that nobody claimed before.
    pub async fn grant(&self, terms: &Arc<KindSpec>, id: &str) -> Lease {
        granted(self.claim(self.claim_of(terms, id)).await)
    }

    /// A grant whose holder is the `perform` of this installation.
    pub async fn grant_to(&self, terms: &Arc<KindSpec>, id: &str, installation: &str) -> Lease {
        let holder = Holder { worker: Arc::from("host/1"), installation: Some(Arc::from(installation)) };
        granted(self.claim(ClaimRequest { holder, ..self.claim_of(terms, id) }).await)
    }

    /// Records an outcome.
    pub async fn record(&self, terms: &Arc<KindSpec>, lease: &Lease, outcome: Outcome) -> Recorded {
        match self.step(record_of(terms, lease, outcome)).await {
            StepAnswer::Record(recorded) => recorded,
            other => panic!("a record was answered with {other:?}"),
        }
    }

    /// Says that a holder is alive.
    pub async fn renew(&self, terms: &Arc<KindSpec>, lease: &Lease) -> Renewed {
        let request = RenewRequest {
            key: lease.key.clone(),
            fence: lease.fence,
            attempt_id: lease.attempt_id,
            terms: Arc::clone(terms),
        };
        match self.step(Step::Renew(request)).await {
            StepAnswer::Renew(renewed) => renewed,
            other => panic!("a renewal was answered with {other:?}"),
        }
    }

    /// Gives a grant back on its holder's word.
    pub async fn release(&self, terms: &Arc<KindSpec>, lease: &Lease) -> Released {
        self.release_because(terms, lease, ReleaseReason::NothingSent).await
    }

    /// Gives a grant back if this reason is enough.
    pub async fn release_because(&self, terms: &Arc<KindSpec>, lease: &Lease, reason: ReleaseReason) -> Released {
        let request = ReleaseRequest {
            key: lease.key.clone(),
            fence: lease.fence,
            attempt_id: lease.attempt_id,
            terms: Arc::clone(terms),
            reason,
        };
        match self.step(Step::Release(request)).await {
            StepAnswer::Release(released) => released,
            other => panic!("a release was answered with {other:?}"),
        }
    }

    /// One step in a commit of its own.
    pub async fn step(&self, step: Step) -> StepAnswer {
        self.batch(vec![step]).await.remove(0).expect("the step is answered")
    }

    /// Steps in one commit.
    pub async fn batch(&self, steps: Vec<Step>) -> Vec<Result<StepAnswer>> {
        self.store().act(Arc::new(steps)).await.expect("the batch is committed")
    }

    /// Sweeps whatever is overdue, knowing every kind.
    pub async fn sweep(&self) -> Swept {
        self.sweep_with(SweepScope::Overdue, kinds::all(), 100).await
    }

    /// Sweeps this scope, knowing these kinds.
    pub async fn sweep_with(&self, scope: SweepScope, kinds: Arc<Kinds>, limit: usize) -> Swept {
        let request = SweepRequest { kinds, scope, clock_slack: kinds::SLACK, seed: 0, limit };
        self.store().sweep(request).await.expect("the sweep is committed")
    }

    /// Brings an answer of the provider, asked just now.
    pub async fn answer(
        &self,
        terms: &Arc<KindSpec>,
        lease: &Lease,
        question: Question,
        answer: ReconcilerAnswer,
    ) -> Reconciled {
        let request = ReconcileRequest {
            key: lease.key.clone(),
            fence: lease.fence,
            question,
            answer,
            asked_at: self.now(),
            terms: Arc::clone(terms),
        };
        self.store().reconcile(vec![request]).await.expect("the answer is committed").remove(0)
    }

    /// A person's verb on an operation in its current state.
    pub async fn resolve(&self, terms: &Arc<KindSpec>, id: &str, who: &str, verb: Verb) -> Result<Resolved> {
        let entry = self.entry(&key(terms, id)).await;
        self.resolve_seen(terms, id, (entry.fence, entry.status), who, verb).await
    }

    /// A person's verb on an operation as they saw it.
    pub async fn resolve_seen(
        &self,
        terms: &Arc<KindSpec>,
        id: &str,
        (fence, status): (u64, Status),
        who: &str,
        verb: Verb,
    ) -> Result<Resolved> {
        let request = ResolveRequest {
            key: key(terms, id),
            fence,
            status,
            verb,
            who: Arc::from(who),
            why: Arc::from("the provider's list shows it"),
            terms: Some(Arc::clone(terms)),
        };
        self.store().resolve(vec![request]).await.expect("the verb is committed").remove(0)
    }

    /// The entry of an operation that exists.
    pub async fn entry(&self, key: &OperationKey) -> Entry {
        self.find(key).await.unwrap_or_else(|| panic!("{key} is not stored"))
    }

    /// The entry of an operation, where it exists.
    pub async fn find(&self, key: &OperationKey) -> Option<Entry> {
        self.store().find(vec![key.clone()]).await.expect("the entry is read").remove(0)
    }

    /// The story of an operation that exists.
    pub async fn timeline(&self, key: &OperationKey) -> Vec<TimelineEvent> {
        let read = self.store().timeline(key.clone()).await.expect("the timeline is read");
        read.unwrap_or_else(|| panic!("{key} has no timeline"))
    }

    /// What the timeline tells, line by line.
    pub async fn story(&self, key: &OperationKey) -> Vec<String> {
        self.timeline(key)
            .await
            .into_iter()
            .map(|event| format!("{} {}: {}", event.fence, event.who, event.what))
            .collect()
    }

    /// Every incident of an operation, newest first.
    pub async fn incidents_of(&self, key: &OperationKey) -> Vec<Incident> {
        let filter =
            IncidentFilter { tenant: key.tenant.clone(), kind: Some(key.kind.clone()), ..IncidentFilter::default() };
        let page = Page { after: None, limit: Page::LIMIT_MAX };
        let listed = self.store().incidents(filter, page).await.expect("incidents are read");
        listed.items.into_iter().filter(|incident| incident.operation_key().as_ref() == Some(key)).collect()
    }

    /// The open incident of an operation, where there is one.
    pub async fn open_incident(&self, key: &OperationKey) -> Option<Incident> {
        let mut open: Vec<_> = self.incidents_of(key).await.into_iter().filter(Incident::is_open).collect();
        assert!(open.len() <= 1, "{key} has {} open incidents", open.len());
        open.pop()
    }

    /// An operation of an escalating kind whose holder went silent: UNKNOWN with its incident.
    pub async fn lost(&self, terms: &Arc<KindSpec>, id: &str) -> Lease {
        let lease = self.grant(terms, id).await;
        self.wait(kinds::LEASE + kinds::SLACK);
        self.sweep().await;
        lease
    }
}

/// The key of an operation of the default tenant.
pub fn key(terms: &KindSpec, id: &str) -> OperationKey {
    key_in("default", terms.kind.as_str(), id)
}

/// The key of an operation.
pub fn key_in(tenant: &str, kind: &str, id: &str) -> OperationKey {
    OperationKey::new(
        Tenant::parse(tenant).expect("a tenant's name"),
        KindName::parse(kind).expect("a kind's name"),
        OperationId::stored(id).expect("an id"),
    )
}

/// The step that records an outcome.
pub fn record_of(terms: &Arc<KindSpec>, lease: &Lease, outcome: Outcome) -> Step {
    Step::Record(Box::new(RecordRequest {
        key: lease.key.clone(),
        fence: lease.fence,
        attempt_id: lease.attempt_id,
        outcome,
        terms: Arc::clone(terms),
        jitter: Jitter(0),
    }))
}

/// The lease of a claim that must have been granted.
#[track_caller]
pub fn granted(claim: Claim) -> Lease {
    match claim {
        Claim::Granted(lease) => lease,
        other => panic!("not granted but {other:?}"),
    }
}
