//! Short ways to ask a store that runs on the server's time.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use onefold_conformance::fixture::{key, record_of};
use onefold_conformance::kinds;
use onefold_conformance::ledger::outcomes::completed;
use onefold_core::Result;
use onefold_core::effect::{EffectClass, KindSpec, Policy};
use onefold_core::fingerprint::FingerprintInput;
use onefold_core::ledger::{AttemptId, Claim, ClaimRequest, Entry, Holder, Lease, Origin, Recorded, Source, Status};
use onefold_core::port::{LedgerRead as _, LedgerWrite as _, Random as _, Step, StepAnswer, Store as _};
use onefold_core::retry::{Category, Jitter, RetryTable, Schedule};
use onefold_postgres::Postgres;
use onefold_runtime::SystemRandom;

/// Nothing in these tests may take longer.
const PATIENCE: Duration = Duration::from_mins(3);

/// A kind that may be performed again, whose silent holders are replaced as soon as their lease is over.
pub(crate) fn replaced_after(lease: Duration) -> Arc<KindSpec> {
    let at_once = || Some(Schedule::Steps(Arc::from([Duration::ZERO])));
    let mut retry = RetryTable::default().with(Category::HolderLost, at_once(), "the test does not wait").with(
        Category::DownstreamTimeout,
        at_once(),
        "the test does not wait",
    );
    retry.attempts_max = u32::MAX;
    let terms = kinds::terms("status.set", EffectClass::Converging, Policy::Rerun);
    Arc::new(KindSpec { lease_for: lease, clock_slack: Duration::ZERO, retry, ..terms })
}

/// A fresh attempt id.
pub(crate) fn attempt() -> AttemptId {
    static RANDOM: OnceLock<SystemRandom> = OnceLock::new();
    AttemptId::from_random(RANDOM.get_or_init(SystemRandom::default).bytes())
}

/// A claim under an attempt id of its own.
pub(crate) fn claim_of(store: &Postgres, terms: &Arc<KindSpec>, id: &str) -> ClaimRequest {
    ClaimRequest {
        key: key(terms, id),
        input: FingerprintInput::new(&b"{}"[..], &terms.fingerprint, &store.keyring())
            .expect("the input has a fingerprint"),
        attempt_id: attempt(),
        terms: Arc::clone(terms),
        origin: Origin::new(Source::Api),
        holder: Holder { worker: Arc::from("host/1"), installation: None },
        jitter: Jitter(0),
    }
}

/// One step in a commit of its own.
pub(crate) async fn step(store: &Postgres, step: Step) -> Result<StepAnswer> {
    store.act(Arc::new(vec![step])).await?.remove(0)
}

/// One claim.
pub(crate) async fn claim(store: &Postgres, request: ClaimRequest) -> Result<Claim> {
    step(store, Step::Claim(Box::new(request))).await.map(as_claim)
}

/// Claims in one batch, each with its answer.
pub(crate) async fn claims(store: &Postgres, requests: &[ClaimRequest]) -> Result<Vec<Result<Claim>>> {
    let steps = requests.iter().map(|request| Step::Claim(Box::new(request.clone()))).collect();
    let answers = store.act(Arc::new(steps)).await?;
    Ok(answers.into_iter().map(|answer| answer.map(as_claim)).collect())
}

/// The grant of an operation that nobody claimed before.
pub(crate) async fn grant(store: &Postgres, terms: &Arc<KindSpec>, id: &str) -> Lease {
    onefold_conformance::fixture::granted(
        claim(store, claim_of(store, terms, id)).await.expect("the claim is answered"),
    )
}

/// Records that a grant took hold.
pub(crate) async fn complete(store: &Postgres, terms: &Arc<KindSpec>, lease: &Lease) -> Result<Recorded> {
    step(store, record_of(terms, lease, completed(b"1"))).await.map(as_recorded)
}

/// The entry of an operation, where there is one.
pub(crate) async fn find(store: &Postgres, terms: &KindSpec, id: &str) -> Option<Entry> {
    store.find(vec![key(terms, id)]).await.expect("the store reads").remove(0)
}

/// Where these operations stand.
pub(crate) async fn statuses(store: &Postgres, terms: &KindSpec, ids: &[String]) -> Vec<Option<Status>> {
    let found = store.find(ids.iter().map(|id| key(terms, id)).collect()).await.expect("the store reads");
    found.into_iter().map(|entry| entry.map(|entry| entry.status)).collect()
}

pub(crate) fn as_claim(answer: StepAnswer) -> Claim {
    match answer {
        StepAnswer::Claim(claim) => claim,
        other => panic!("a claim was answered with {other:?}"),
    }
}

pub(crate) fn as_recorded(answer: StepAnswer) -> Recorded {
    match answer {
        StepAnswer::Record(recorded) => recorded,
        other => panic!("a record was answered with {other:?}"),
    }
}

/// Whether an outcome stands as it was recorded.
pub(crate) fn accepted(recorded: &Recorded) -> bool {
    matches!(recorded, Recorded::Settled { .. } | Recorded::Already { .. })
}

/// Waits for something to be so, looking again and again; never for a fixed time.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "still waiting until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
