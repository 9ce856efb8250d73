//! One operation's rows in memory. Every move is the production rule's; the ledger only writes it down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::effect::{DuplicateReason, EffectClass, EffectContract, KindSpec, Policy};
use onefold_core::error::{OPERATION_CONFLICT, Result};
use onefold_core::fingerprint::{FingerprintInput, FingerprintKey, KeyId, Keyring, Mode};
use onefold_core::incident::Incident;
use onefold_core::ledger::{
    AttemptId, Claim, ClaimRequest, Completion, Decision, Entry, Failure, Holder, Lease, Note, Origin, Outcome,
    PastAttempt, Question, ReconcileRequest, Reconciled, ReconcilerAnswer, RecordRequest, Recorded, ReleaseReason,
    ReleaseRequest, Released, RenewRequest, Renewed, Resolution, ResolveRequest, Resolved, SideEffect, Source, Status,
    StoredResult, Sweep, SweepReason, Transition, Verb, decide, reconcile, record, release, renew, resolve, sweep,
};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::retry::{Category, Jitter};

pub(crate) const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const ASK: Policy = Policy::Ask { settle: secs(900) };
pub(crate) const SAME_KEY: Policy = Policy::SameKey { provider_memory: secs(86_400) };

pub(crate) fn accepts_duplicates() -> Policy {
    Policy::AcceptDuplicate { because: DuplicateReason::new("a second reminder harms nobody") }
}

/// A class that allows the policy.
pub(crate) fn class_of(policy: &Policy) -> EffectClass {
    match policy {
        Policy::Rerun => EffectClass::Converging,
        Policy::AcceptDuplicate { .. } => EffectClass::HumanNotification,
        Policy::SameKey { .. } | Policy::Ask { .. } | Policy::Void | Policy::Escalate => EffectClass::ExternalCommand,
        Policy::InTransaction => EffectClass::Local,
    }
}

pub(crate) fn terms(class: EffectClass, policy: Policy) -> KindSpec {
    let contract = EffectContract::new(class, policy).expect("a legal pair");
    let mut terms = KindSpec::new(KindName::parse("notice.issue").expect("a kind name"), contract);
    terms.dependency = Some(Arc::from("notice-service"));
    terms
}

pub(crate) fn completion(text: &str) -> Completion {
    Completion { result: StoredResult::json(text.as_bytes()), evidence: None }
}

pub(crate) fn completed(text: &str) -> Outcome {
    Outcome::Completed(completion(text))
}

pub(crate) fn with_evidence(text: &str) -> Outcome {
    Outcome::Completed(Completion { evidence: Some(Arc::from("notice 4711")), ..completion(text) })
}

/// Not applied, and worth another attempt.
pub(crate) fn retryable(category: Category) -> Outcome {
    Outcome::FailedRetryable(Failure::technical(category, SideEffect::NotApplied))
}

/// Not applied, and a technical end.
pub(crate) fn gave_up() -> Outcome {
    Outcome::FailedFinal(Failure::technical(Category::Permission, SideEffect::NotApplied))
}

/// The provider's own no.
pub(crate) fn refused() -> Outcome {
    Outcome::FailedFinal(Failure::business(OPERATION_CONFLICT))
}

pub(crate) fn timed_out() -> Outcome {
    Outcome::Unknown(Failure::technical(Category::DownstreamTimeout, SideEffect::Unknown))
}

/// One operation, its history, and the time.
#[derive(Debug, Clone)]
pub(crate) struct LedgerFixture {
    pub(crate) terms: Arc<KindSpec>,
    pub(crate) origin: Origin,
    pub(crate) worker: Arc<str>,
    pub(crate) input: &'static [u8],
    pub(crate) id: &'static str,
    pub(crate) now: Timestamp,
    pub(crate) entry: Option<Entry>,
    pub(crate) past: BTreeMap<u64, PastAttempt>,
    /// The last incident written, open or closed.
    pub(crate) incident: Option<Incident>,
    pub(crate) notes: Vec<Note>,
    pub(crate) leases: Vec<Lease>,
}

impl LedgerFixture {
    pub(crate) fn under(policy: Policy) -> Self {
        Self::of(terms(class_of(&policy), policy))
    }

    pub(crate) fn of(terms: KindSpec) -> Self {
        Self {
            terms: Arc::new(terms),
            origin: Origin::new(Source::Api),
            worker: Arc::from("worker-1"),
            input: b"{}",
            id: "CASE-1",
            now: START,
            entry: None,
            past: BTreeMap::new(),
            incident: None,
            notes: Vec::new(),
            leases: Vec::new(),
        }
    }

    pub(crate) fn entry(&self) -> &Entry {
        self.entry.as_ref().expect("the operation was claimed")
    }

    pub(crate) fn status(&self) -> Status {
        self.entry().status
    }

    pub(crate) fn open(&self) -> Option<&Incident> {
        self.incident.as_ref().filter(|incident| incident.is_open())
    }

    /// The grant with this fence.
    pub(crate) fn lease(&self, fence: u64) -> &Lease {
        self.leases.iter().rev().find(|lease| lease.fence == fence).expect("the fence was granted")
    }

    pub(crate) fn key(&self) -> OperationKey {
        let id = OperationId::parse(self.id).expect("an operation id");
        OperationKey::new(Tenant::default(), self.terms.kind.clone(), id)
    }

    pub(crate) fn wait(&mut self, by: Duration) -> &mut Self {
        self.now = self.now.plus(by);
        self
    }

    fn written<A>(&mut self, decision: Decision<A>) -> A {
        if let Some(transition) = decision.transition {
            self.write(*transition);
        }
        decision.answer
    }

    fn write(&mut self, mut transition: Transition) {
        let open = self.open().cloned();
        if let Some(written) = transition.settle_incident(open) {
            self.incident = Some(written);
        }
        if let Some(attempt) = transition.past {
            self.past.insert(attempt.fence, attempt);
        }
        self.notes.extend(transition.notes);
        self.entry = Some(transition.entry);
        let open = self.open().map(|incident| &incident.id);
        assert_eq!(self.entry().incident.as_ref(), open, "the entry points at its open incident");
    }

    pub(crate) fn attempt_id(nth: u8) -> AttemptId {
        AttemptId::from_random([nth; 16])
    }

    pub(crate) fn claim_request(&self, attempt: u8) -> ClaimRequest {
        let keys = Arc::new(Keyring::new(FingerprintKey::new(KeyId(1), [7; 32]), Vec::new()));
        ClaimRequest {
            key: self.key(),
            input: FingerprintInput::new(self.input, &Mode::Raw, &keys).expect("raw bytes have a fingerprint"),
            attempt_id: Self::attempt_id(attempt),
            terms: Arc::clone(&self.terms),
            origin: self.origin.clone(),
            holder: Holder { worker: Arc::clone(&self.worker), installation: None },
            jitter: Jitter(0),
        }
    }

    pub(crate) fn claim(&mut self, attempt: u8) -> Claim {
        let decision = decide(self.entry.as_ref(), &self.claim_request(attempt), self.now).expect("one key is in use");
        let claim = self.written(decision);
        if let Claim::Granted(lease) = &claim {
            self.leases.push(lease.clone());
        }
        claim
    }

    /// Claims, and is granted.
    pub(crate) fn granted(&mut self, attempt: u8) -> &mut Self {
        let claim = self.claim(attempt);
        assert!(matches!(claim, Claim::Granted(_)), "{claim:?}");
        self
    }

    pub(crate) fn record_as(&mut self, fence: u64, attempt_id: AttemptId, outcome: Outcome) -> Recorded {
        let request = RecordRequest {
            key: self.key(),
            fence,
            attempt_id,
            outcome,
            terms: Arc::clone(&self.terms),
            jitter: Jitter(0),
        };
        let decision = record(self.entry.as_ref(), self.past.get(&fence), &request, self.now);
        self.written(decision)
    }

    /// Records under the grant with this fence.
    pub(crate) fn record(&mut self, fence: u64, outcome: Outcome) -> Recorded {
        let attempt_id = self.lease(fence).attempt_id;
        self.record_as(fence, attempt_id, outcome)
    }

    /// The holder says that nothing was sent.
    pub(crate) fn release(&mut self, fence: u64) -> Released {
        self.release_because(fence, ReleaseReason::NothingSent)
    }

    /// A server says that an answer with this grant was not handed over.
    pub(crate) fn undelivered(&mut self, fence: u64) -> Released {
        self.release_because(fence, ReleaseReason::AnswerUndelivered)
    }

    fn release_because(&mut self, fence: u64, reason: ReleaseReason) -> Released {
        let attempt_id = self.lease(fence).attempt_id;
        let request = ReleaseRequest { key: self.key(), fence, attempt_id, terms: Arc::clone(&self.terms), reason };
        let decision = release(self.entry.as_ref(), self.past.get(&fence), &request, self.now);
        self.written(decision)
    }

    pub(crate) fn renew(&mut self, fence: u64) -> Renewed {
        let attempt_id = self.lease(fence).attempt_id;
        let request = RenewRequest { key: self.key(), fence, attempt_id, terms: Arc::clone(&self.terms) };
        let decision = renew(self.entry.as_ref(), &request, self.now);
        self.written(decision)
    }

    /// Sweeps; whether something moved.
    pub(crate) fn sweep(&mut self, reason: SweepReason) -> bool {
        let terms = Arc::clone(&self.terms);
        self.sweep_knowing(reason, Some(&terms))
    }

    pub(crate) fn sweep_knowing(&mut self, reason: SweepReason, terms: Option<&KindSpec>) -> bool {
        let sweeper = Sweep { reason, terms, clock_slack: secs(5), jitter: Jitter(0) };
        let moved = sweep(self.entry(), &sweeper, self.now);
        let found = moved.is_some();
        if let Some(transition) = moved {
            self.write(transition);
        }
        found
    }

    /// The provider answers what was asked at `asked_at` of the attempt with this fence.
    pub(crate) fn answered_of(
        &mut self,
        fence: u64,
        asked_at: Timestamp,
        question: Question,
        answer: ReconcilerAnswer,
    ) -> Reconciled {
        let terms = Arc::clone(&self.terms);
        let request = ReconcileRequest { key: self.key(), fence, question, answer, asked_at, terms };
        let decision = reconcile(self.entry.as_ref(), &request, self.now);
        self.written(decision)
    }

    pub(crate) fn answered_at(
        &mut self,
        asked_at: Timestamp,
        question: Question,
        answer: ReconcilerAnswer,
    ) -> Reconciled {
        self.answered_of(self.entry().fence, asked_at, question, answer)
    }

    pub(crate) fn answered(&mut self, question: Question, answer: ReconcilerAnswer) -> Reconciled {
        self.answered_at(self.now, question, answer)
    }

    pub(crate) fn verb_request(&self, who: &str, verb: Verb) -> ResolveRequest {
        ResolveRequest {
            key: self.key(),
            fence: self.entry().fence,
            status: self.status(),
            verb,
            who: Arc::from(who),
            why: Arc::from("looked at the provider's list"),
            terms: Some(Arc::clone(&self.terms)),
        }
    }

    pub(crate) fn ask_for(&mut self, request: &ResolveRequest) -> Result<Resolved> {
        let decision = resolve(self.entry.as_ref(), request, self.now)?;
        Ok(self.written(decision))
    }

    pub(crate) fn says(&mut self, who: &str, verb: Verb) -> Result<Resolved> {
        let request = self.verb_request(who, verb);
        self.ask_for(&request)
    }

    pub(crate) fn finds(&mut self, resolution: Resolution) -> Result<Resolved> {
        self.says("ana", Verb::Resolve(resolution))
    }
}

/// One thing that happens; a story is a row of them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// A claim under this attempt id, which is granted.
    Claim(u8),
    Complete,
    /// The provider says no.
    Refuse,
    /// The attempt ends for good without an answer of the provider.
    GiveUp,
    /// The attempt fails, not applied.
    Fail(Category),
    /// The attempt does not know.
    TimeOut,
    Release,
    /// Seconds pass.
    Wait(u64),
    Sweep,
    HolderDead,
    Ask(Answer),
    Void(Answer),
    TookHold,
    DidNotHappen,
    Failed,
    Retry,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Yes,
    No,
    CannotTell,
}

impl Answer {
    fn spoken(self) -> ReconcilerAnswer {
        match self {
            Self::Yes => ReconcilerAnswer::TookHold(completion("\"found\"")),
            Self::No => ReconcilerAnswer::DidNot,
            Self::CannotTell => ReconcilerAnswer::CannotTell,
        }
    }
}

impl LedgerFixture {
    pub(crate) fn play(mut self, story: &[Step]) -> Self {
        for step in story {
            self.take(*step);
        }
        self
    }

    pub(crate) fn take(&mut self, step: Step) {
        let fence = self.entry.as_ref().map_or(0, |entry| entry.fence);
        match step {
            Step::Claim(attempt) => drop(self.granted(attempt)),
            Step::Complete => drop(self.record(fence, completed("1"))),
            Step::Refuse => drop(self.record(fence, refused())),
            Step::GiveUp => drop(self.record(fence, gave_up())),
            Step::Fail(category) => drop(self.record(fence, retryable(category))),
            Step::TimeOut => drop(self.record(fence, timed_out())),
            Step::Release => assert_eq!(self.release(fence), Released::Released),
            Step::Wait(seconds) => drop(self.wait(secs(seconds))),
            Step::Sweep => assert!(self.sweep(SweepReason::Expired), "nothing was overdue"),
            Step::HolderDead => assert!(self.sweep(SweepReason::HolderDead), "nothing was held"),
            Step::Ask(answer) => drop(self.answered(Question::Ask, answer.spoken())),
            Step::Void(answer) => drop(self.answered(Question::Void, answer.spoken())),
            Step::TookHold => drop(self.finds(Resolution::TookHold(completion("\"seen\""))).expect("allowed")),
            Step::DidNotHappen => drop(self.finds(Resolution::DidNotHappen { force: false }).expect("allowed")),
            Step::Failed => drop(self.finds(Resolution::Failed(OPERATION_CONFLICT.name())).expect("allowed")),
            Step::Retry => drop(self.says("ana", Verb::Retry).expect("allowed")),
        }
    }
}
