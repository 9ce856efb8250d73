//! Claims and records under everything at once: leases that run out, lost answers, retries, holders that go silent.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_conformance::fixture::record_of;
use onefold_conformance::ledger::outcomes::{completed, retryable};
use onefold_core::effect::KindSpec;
use onefold_core::ledger::{AttemptId, Claim, ClaimRequest, Lease, Recorded, Status};
use onefold_core::operation::OperationKey;
use onefold_core::port::{Filter, LedgerRead as _, LedgerWrite as _, Page, Step, StepAnswer};
use onefold_core::retry::Category;
use onefold_postgres::Postgres;
use onefold_testing::SeededRandom;
use onefold_testing::seed;
use tokio::task::JoinSet;

use crate::asking::{as_recorded, claim_of, claims, replaced_after};
use crate::fixture::Schema;
use crate::pitfalls::shuffled;

const IDS: usize = 400;
const BATCH: usize = 40;
const ROUNDS: usize = 25;

/// What all workers saw, heard or not.
#[derive(Default)]
struct Seen {
    grants: Mutex<HashMap<(OperationKey, u64), AttemptId>>,
    completed: Mutex<HashSet<OperationKey>>,
    counts: Mutex<HashMap<&'static str, usize>>,
}

impl Seen {
    fn count(&self, what: &'static str, by: usize) {
        *self.counts.lock().unwrap().entry(what).or_default() += by;
    }

    fn counted(&self, what: &str) -> usize {
        self.counts.lock().unwrap().get(what).copied().unwrap_or_default()
    }

    fn granted(&self, lease: &Lease) {
        let before = self.grants.lock().unwrap().insert((lease.key.clone(), lease.fence), lease.attempt_id);
        assert!(
            before.is_none_or(|attempt| attempt == lease.attempt_id),
            "{} was granted twice under fence {}",
            lease.key,
            lease.fence
        );
    }

    fn recorded(&self, key: &OperationKey, recorded: &Recorded) {
        let (what, status) = match recorded {
            Recorded::Settled { status, .. } => ("settled", Some(*status)),
            Recorded::Already { status } => ("already", Some(*status)),
            Recorded::Refused(_) => ("refused", None),
        };
        self.count(what, 1);
        if status == Some(Status::Completed) {
            self.completed.lock().unwrap().insert(key.clone());
        }
    }
}

struct Worker {
    store: Postgres,
    /// Where it asks again after a lost answer.
    elsewhere: Postgres,
    terms: Arc<KindSpec>,
    random: SeededRandom,
    seen: Arc<Seen>,
}

impl Worker {
    fn chance(&self, percent: u64) -> bool {
        self.random.draw() % 100 < percent
    }

    async fn work(self) {
        for _ in 0..ROUNDS {
            let mut ids = shuffled((0..IDS).collect(), &self.random);
            ids.truncate(BATCH);
            let batch: Vec<ClaimRequest> =
                ids.iter().map(|id| claim_of(&self.store, &self.terms, &format!("ID-{id}"))).collect();
            let leases = self.claim(&batch).await;
            self.record(&leases).await;
        }
    }

    /// The grants that were heard.
    async fn claim(&self, batch: &[ClaimRequest]) -> Vec<Lease> {
        let mut answers = claims(&self.store, batch).await.unwrap();
        if self.chance(10) {
            self.seen.count("lost claims", 1);
            self.heard(&answers.iter().flatten().cloned().collect::<Vec<_>>());
            answers = claims(&self.elsewhere, batch).await.unwrap();
        }
        self.heard(&answers.into_iter().map(Result::unwrap).collect::<Vec<_>>())
    }

    fn heard(&self, answers: &[Claim]) -> Vec<Lease> {
        let leases = answers.iter().filter_map(|claim| match claim {
            Claim::Granted(lease) => Some(lease.clone()),
            _ => None,
        });
        leases.inspect(|lease| self.seen.granted(lease)).collect()
    }

    /// Some holders go silent, some fail, the others complete.
    async fn record(&self, leases: &[Lease]) {
        let mut steps = Vec::new();
        for lease in leases {
            if self.chance(20) {
                continue;
            }
            let outcome = if self.chance(40) { retryable(Category::DownstreamTimeout) } else { completed(b"1") };
            steps.push(record_of(&self.terms, lease, outcome));
        }
        if self.chance(10) {
            self.seen.count("lost records", 1);
            self.store.act(Arc::new(steps.clone())).await.unwrap();
            return self.hear(&self.elsewhere, steps).await;
        }
        self.hear(&self.store, steps).await;
    }

    async fn hear(&self, store: &Postgres, steps: Vec<Step>) {
        let steps = Arc::new(steps);
        let answers: Vec<StepAnswer> =
            store.act(Arc::clone(&steps)).await.unwrap().into_iter().map(Result::unwrap).collect();
        for (step, answer) in steps.iter().zip(answers) {
            self.seen.recorded(step.key(), &as_recorded(answer));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fence_is_granted_to_two_attempts_and_every_accepted_completion_stands() {
    let schema = Schema::new();
    let terms = replaced_after(Duration::from_millis(20));
    let seen = Arc::new(Seen::default());
    let chance = seed("ONEFOLD_SEED");
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(schema.open().await.unwrap());
    }
    let mut working = JoinSet::new();
    for number in 0..8_usize {
        let worker = Worker {
            store: stores[number % 4].clone(),
            elsewhere: stores[(number + 1) % 4].clone(),
            terms: Arc::clone(&terms),
            random: SeededRandom::new(chance.wrapping_add(number as u64)),
            seen: Arc::clone(&seen),
        };
        working.spawn(worker.work());
    }
    while let Some(worked) = working.join_next().await {
        worked.unwrap();
    }
    let listed = stored(&stores[0]).await;
    let done: HashSet<OperationKey> =
        listed.iter().filter(|(_, status, _)| *status == Status::Completed).map(|(key, ..)| key.clone()).collect();
    let accepted = seen.completed.lock().unwrap();
    let missing: Vec<_> = accepted.difference(&done).collect();
    assert!(missing.is_empty(), "accepted, and not there: {missing:?}");
    let unheard: Vec<_> = done.difference(&accepted).collect();
    assert!(unheard.is_empty(), "there, and accepted for nobody: {unheard:?}");
    // What the rules are for really happened.
    let grants = seen.grants.lock().unwrap();
    for (key, _, fence) in &listed {
        assert!(grants.contains_key(&(key.clone(), *fence)), "{key}: fence {fence} was granted to nobody");
    }
    assert!(grants.keys().filter(|(_, fence)| *fence > 1).count() > 50, "{} grants", grants.len());
    assert!(done.len() > IDS / 4, "{} completed", done.len());
    for what in ["lost claims", "lost records", "settled", "already"] {
        assert!(seen.counted(what) > 0, "{what}");
    }
}

/// Every operation with its status and fence.
async fn stored(store: &Postgres) -> Vec<(OperationKey, Status, u64)> {
    let mut all = Vec::new();
    let mut page = Page { after: None, limit: Page::LIMIT_MAX };
    loop {
        let listed = store.list(Filter::default(), page).await.unwrap();
        all.extend(listed.items.into_iter().map(|entry| (entry.key, entry.status, entry.fence)));
        match listed.next {
            Some(next) => page.after = Some(next),
            None => return all,
        }
    }
}
