//! Plays commands on the store and on the model.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::clock::{Confirmation, ConfirmedTime};
use onefold_core::effect::{KindSpec, Kinds, Retention};
use onefold_core::error::Result;
use onefold_core::fingerprint::{FingerprintInput, Mode};
use onefold_core::ledger::{
    AttemptId, Claim, ClaimRequest, Holder, Lease, Origin, Outcome, Question, ReconcileRequest, ReconcilerAnswer,
    RecordRequest, ReleaseRequest, RenewRequest, Resolution, ResolveRequest, Source, Status, Verb,
};
use onefold_core::operation::OperationKey;
use onefold_core::port::{
    Clock as _, Filter, IncidentFilter, LedgerMaintenance as _, LedgerRead, LedgerWrite as _, Page, PruneRequest,
    Random as _, Step, StepAnswer, Store as _, SweepRequest, SweepScope,
};
use onefold_core::retry::{Category, Jitter, Schedule};
use onefold_testing::{ManualClock, SeededRandom};
use proptest::test_runner::TestCaseError;

use super::command::{Command, Forgery, IDS, Move, ReconcilerReply, SeenState, VerbCase};
use crate::fixture::key;
use crate::harness::Harness;
use crate::kinds;
use crate::ledger::outcomes::{CASE_CLOSED, broken, completed, completion, proved, rejected, retryable, unknown};
use crate::model::Model;

type Played = Result<(), TestCaseError>;

/// The store and the model, on one clock.
pub(super) struct Player<H: Harness> {
    clock: Arc<ManualClock>,
    random: Arc<SeededRandom>,
    harness: H,
    store: Option<H::Store>,
    model: Model,
    kinds: Vec<Arc<KindSpec>>,
    /// Every grant that was given, so that old ones come back.
    grants: Vec<(Arc<KindSpec>, Lease)>,
}

impl<H: Harness> Player<H> {
    pub(super) async fn new(seed: u64) -> Self {
        let clock = Arc::new(ManualClock::default());
        let random = Arc::new(SeededRandom::new(seed));
        let harness = H::fresh().await;
        let store = harness.open(clock.clone(), random.clone()).await;
        let model = Model::new(clock.clone(), store.keyring());
        Self { clock, random, harness, store: Some(store), model, kinds: even_kinds(), grants: Vec::new() }
    }

    fn store(&self) -> &H::Store {
        self.store.as_ref().expect("the store is open between commands")
    }

    pub(super) async fn play(mut self, commands: &[Command]) -> Played {
        for command in commands {
            self.one(command).await.map_err(|error| TestCaseError::fail(format!("{command:?}: {error}")))?;
        }
        self.compare_all().await
    }

    async fn one(&mut self, command: &Command) -> Played {
        match command {
            Command::Act(moves) => self.act(moves).await,
            Command::Sweep => self.sweep(SweepScope::Overdue).await,
            Command::SweepDead(name) => self.sweep(SweepScope::DeadHolder(Arc::from(*name))).await,
            Command::Answer { operation, kind, voided, answer, fence } => {
                let request = self.answer(&self.key(*operation, *kind), *kind, *voided, *answer, *fence).await;
                let store = self.store().reconcile(vec![request.clone()]).await;
                same("answer", &shown(store), &shown(self.model.reconcile(vec![request]).await))
            }
            Command::Resolve { operation, kind, verb, who, seen } => {
                let request = self.verb(&self.key(*operation, *kind), *kind, *verb, who, *seen).await;
                let store = self.store().resolve(vec![request.clone()]).await;
                same(
                    "verb",
                    &shown(store.map(all_shown)),
                    &shown(self.model.resolve(vec![request]).await.map(all_shown)),
                )
            }
            Command::Prune { days, results_only } => {
                // Which time may delete depends on when each was opened; by one time they delete the same.
                let by = match self.store().confirm_time().await.expect("the clock is looked at") {
                    Confirmation::Confirmed(by) | Confirmation::Earlier(by, _) => by,
                    Confirmation::Waiting(_) => return Ok(()),
                };
                let request = self.prune(by, *days, *results_only);
                let store = self.store().prune(request.clone()).await;
                same("prune", &shown(store), &shown(self.model.prune(request).await))
            }
            Command::Wait(by) => {
                self.clock.advance(*by);
                Ok(())
            }
            Command::Reopen => {
                self.store = None;
                self.store = Some(self.harness.open(self.clock.clone(), self.random.clone()).await);
                Ok(())
            }
        }
    }

    async fn act(&mut self, moves: &[Move]) -> Played {
        let steps: Vec<(Arc<KindSpec>, Step)> = moves.iter().filter_map(|one| self.step(one)).collect();
        let batch = Arc::new(steps.iter().map(|(_, step)| step.clone()).collect::<Vec<_>>());
        let store = match self.alone(&batch) {
            Some(answer) => Ok(vec![answer]),
            None => self.store().act(Arc::clone(&batch)).await,
        };
        let model = self.model.act(batch).await.expect("the model commits");
        for ((terms, _), answer) in steps.iter().zip(&model) {
            if let Ok(StepAnswer::Claim(Claim::Granted(lease))) = answer {
                self.grants.push((Arc::clone(terms), lease.clone()));
            }
        }
        same("act", &shown(store.map(all_shown)), &shown(Ok(all_shown(model))))
    }

    /// A step without another caller, where the store carries it out right here.
    fn alone(&self, batch: &[Step]) -> Option<Result<StepAnswer>> {
        match batch {
            [step] => self.store().act_inline(step),
            _ => None,
        }
    }

    fn step(&self, one: &Move) -> Option<(Arc<KindSpec>, Step)> {
        Some(match one {
            Move::Claim { operation, kind, attempt, other_request, installation } => {
                let terms = Arc::clone(&self.kinds[*kind]);
                let input: &[u8] = if *other_request { b"other" } else { b"same" };
                let old = attempt.filter(|_| !self.grants.is_empty()).map(|index| index.get(&self.grants).1.attempt_id);
                let request = ClaimRequest {
                    key: self.key(*operation, *kind),
                    input: FingerprintInput::new(input, &Mode::Raw, &self.model.keyring()).expect("raw"),
                    attempt_id: old.unwrap_or_else(|| AttemptId::from_random(self.random.bytes())),
                    terms: Arc::clone(&terms),
                    origin: Origin::new(Source::Api),
                    holder: Holder { worker: Arc::from("host/1"), installation: installation.map(Arc::from) },
                    jitter: Jitter(0),
                };
                (terms, Step::Claim(Box::new(request)))
            }
            Move::Record { grant, outcome, forged } => {
                let (terms, lease) = self.grant(*grant, *forged)?;
                let (key, fence, attempt_id) = (lease.key, lease.fence, lease.attempt_id);
                let outcome = outcomes()[*outcome].clone();
                let request =
                    RecordRequest { key, fence, attempt_id, outcome, terms: Arc::clone(&terms), jitter: Jitter(0) };
                (terms, Step::Record(Box::new(request)))
            }
            Move::Renew { grant, forged } => {
                let (terms, lease) = self.grant(*grant, *forged)?;
                let (key, fence, attempt_id) = (lease.key, lease.fence, lease.attempt_id);
                (Arc::clone(&terms), Step::Renew(RenewRequest { key, fence, attempt_id, terms }))
            }
            Move::Release { grant, forged, reason } => {
                let (terms, lease) = self.grant(*grant, *forged)?;
                let (key, fence, attempt_id) = (lease.key, lease.fence, lease.attempt_id);
                let reason = *reason;
                (Arc::clone(&terms), Step::Release(ReleaseRequest { key, fence, attempt_id, terms, reason }))
            }
        })
    }

    fn grant(&self, index: proptest::sample::Index, forged: Forgery) -> Option<(Arc<KindSpec>, Lease)> {
        if self.grants.is_empty() {
            return None;
        }
        let (terms, mut lease) = index.get(&self.grants).clone();
        match forged {
            Forgery::Nothing => {}
            Forgery::FenceAhead => lease.fence += 1,
            Forgery::FenceBehind => lease.fence -= 1,
            Forgery::Attempt => lease.attempt_id = AttemptId::from_random(self.random.bytes()),
        }
        Some((terms, lease))
    }

    async fn sweep(&self, scope: SweepScope) -> Played {
        let kinds: Kinds = self.kinds.iter().map(|terms| (terms.kind.clone(), Arc::clone(terms))).collect();
        let request = SweepRequest { kinds: Arc::new(kinds), scope, clock_slack: kinds::SLACK, seed: 7, limit: 1000 };
        let store = self.store().sweep(request.clone()).await;
        same("sweep", &shown(store), &shown(self.model.sweep(request).await))
    }

    async fn answer(
        &self,
        key: &OperationKey,
        kind: usize,
        voided: bool,
        answer: ReconcilerReply,
        fence: SeenState,
    ) -> ReconcileRequest {
        let (stands, _) = self.stands(key, fence).await;
        ReconcileRequest {
            key: key.clone(),
            fence: stands,
            question: if voided { Question::Void } else { Question::Ask },
            answer: match answer {
                ReconcilerReply::TookHold => ReconcilerAnswer::TookHold(completion(b"told", None)),
                ReconcilerReply::TookHoldProved => ReconcilerAnswer::TookHold(completion(b"told", Some("doc/2"))),
                ReconcilerReply::DidNot => ReconcilerAnswer::DidNot,
                ReconcilerReply::CannotTell => ReconcilerAnswer::CannotTell,
                ReconcilerReply::Later => ReconcilerAnswer::Later(Duration::from_secs(5)),
            },
            asked_at: self.clock.now(),
            terms: Arc::clone(&self.kinds[kind]),
        }
    }

    async fn verb(
        &self,
        key: &OperationKey,
        kind: usize,
        verb: VerbCase,
        who: &str,
        seen: SeenState,
    ) -> ResolveRequest {
        let (fence, status) = self.stands(key, seen).await;
        let verb = match verb {
            VerbCase::Retry => Verb::Retry,
            VerbCase::AskNow => Verb::AskNow,
            VerbCase::TookHold => Verb::Resolve(Resolution::TookHold(completion(b"said", None))),
            VerbCase::TookHoldProved => Verb::Resolve(Resolution::TookHold(completion(b"said", Some("doc/3")))),
            VerbCase::DidNotHappen => Verb::Resolve(Resolution::DidNotHappen { force: false }),
            VerbCase::DidNotHappenForced => Verb::Resolve(Resolution::DidNotHappen { force: true }),
            VerbCase::Failed => Verb::Resolve(Resolution::Failed(CASE_CLOSED.name())),
        };
        let terms = Some(Arc::clone(&self.kinds[kind]));
        ResolveRequest { key: key.clone(), fence, status, verb, who: Arc::from(who), why: Arc::from("seen"), terms }
    }

    /// Fence and status as somebody saw them.
    async fn stands(&self, key: &OperationKey, seen: SeenState) -> (u64, Status) {
        let entry = self.model.find(vec![key.clone()]).await.expect("the model reads").remove(0);
        let (fence, status) = entry.map_or((1, Status::Unknown), |entry| (entry.fence, entry.status));
        match seen {
            SeenState::AsItStands => (fence, status),
            SeenState::OtherFence => (fence + 1, status),
            SeenState::OtherStatus => {
                (fence, if status == Status::Unknown { Status::Started } else { Status::Unknown })
            }
        }
    }

    fn prune(&self, by: ConfirmedTime, days: u64, results_only: bool) -> PruneRequest {
        let kept = Some(Duration::from_secs(days * 86_400));
        let retention = Retention { result_for: kept, id_for: kept.filter(|_| !results_only), redelivery_for: None };
        let rules = self.kinds.iter().map(|terms| (terms.kind.clone(), retention)).collect();
        PruneRequest { by, rules, limit: 1000, archive: None, dry_run: false }
    }

    fn key(&self, operation: usize, kind: usize) -> OperationKey {
        key(&self.kinds[kind], IDS[operation])
    }

    /// Everything that can be read, read from both.
    async fn compare_all(&self) -> Played {
        let (store, model) = (self.store(), &self.model);
        for kind in 0..self.kinds.len() {
            for operation in 0..IDS.len() {
                let key = self.key(operation, kind);
                let read = (store.find(vec![key.clone()]).await, model.find(vec![key.clone()]).await);
                same("entry", &shown(read.0), &shown(read.1))?;
                let read = (store.timeline(key.clone()).await, model.timeline(key).await);
                same("timeline", &shown(read.0), &shown(read.1))?;
            }
        }
        same("list", &listed(store).await, &listed(model).await)
    }
}

/// Operations, incidents and groups. What one commit wrote has no order of its own, so they are sorted.
async fn listed(store: &impl LedgerRead) -> String {
    let page = Page { after: None, limit: Page::LIMIT_MAX };
    let operations = store.list(Filter::default(), page).await.map(|listed| {
        let mut items = listed.items;
        items.sort_by(|one, two| one.key.cmp(&two.key));
        items
    });
    let incidents = store.incidents(IncidentFilter::default(), page).await.map(|listed| {
        let mut items = listed.items;
        items.sort_by(|one, two| one.id.cmp(&two.id));
        items
    });
    let groups = store.groups(Filter::default().tenant).await.map(|groups| {
        let shown = groups.into_iter().map(|group| (group.key, group.incidents, group.first_seen, group.last_seen));
        shown.collect::<Vec<_>>()
    });
    format!("{}\n{}\n{}", shown(operations), shown(incidents), shown(groups))
}

/// Kinds whose waits have no draw in them, so that two stores need not sweep in one order.
fn even_kinds() -> Vec<Arc<KindSpec>> {
    let every = [
        kinds::escalates(),
        kinds::reruns(),
        kinds::same_key(),
        kinds::asks(),
        kinds::voids(),
        kinds::accepts_duplicates(),
        kinds::financial(),
    ];
    let even = |terms: &Arc<KindSpec>| {
        let mut terms = KindSpec::clone(terms);
        for category in [Category::HolderLost, Category::RateLimited, Category::DownstreamTimeout, Category::Unexpected]
        {
            let wait = Duration::from_secs(1);
            terms.retry = terms.retry.with(category, Some(Schedule::Between(wait, wait)), "no draw");
        }
        terms.retry.attempts_max = 3;
        terms.result_bytes_max = 8;
        Arc::new(terms)
    };
    every.iter().map(even).collect()
}

fn outcomes() -> [Outcome; super::command::OUTCOMES] {
    [
        completed(b"1"),
        completed(b"\0\xff"),
        completed(b"longer than the limit"),
        proved(b"1", "doc/1"),
        rejected(),
        broken(Category::Permission),
        retryable(Category::RateLimited),
        unknown(Category::DownstreamTimeout),
        unknown(Category::Unexpected),
    ]
}

fn shown<T: Debug>(answer: Result<T>) -> String {
    match answer {
        Ok(answer) => format!("{answer:#?}"),
        Err(error) => error.to_string(),
    }
}

fn all_shown<T: Debug>(answers: Vec<Result<T>>) -> Vec<String> {
    answers.into_iter().map(shown).collect()
}

fn same(what: &str, store: &str, model: &str) -> Played {
    if store == model {
        return Ok(());
    }
    let differs = store.lines().zip(model.lines()).find(|(store, model)| store != model);
    Err(TestCaseError::fail(format!("{what} differs at {differs:?}\nstore: {store}\nmodel: {model}")))
}
