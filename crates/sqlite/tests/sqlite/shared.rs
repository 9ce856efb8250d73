//! Two stores on one file, as two processes have them.

use std::collections::HashMap;
use std::sync::Arc;

use onefold_conformance::fixture::key;
use onefold_conformance::kinds::escalates;
use onefold_core::fingerprint::{FingerprintInput, Mode};
use onefold_core::ledger::{AttemptId, Claim, ClaimRequest, Holder, Origin, Source};
use onefold_core::port::{LedgerWrite as _, Random as _, Step, StepAnswer, Store as _};
use onefold_core::retry::Jitter;
use onefold_runtime::SystemRandom;
use onefold_sqlite::Sqlite;

use crate::fixture::{Folder, open};

/// Operations that both stores claim.
const IDS: usize = 2000;
/// Claims in one commit.
const BATCH: usize = 50;

pub(crate) fn claim(store: &Sqlite, random: &SystemRandom, id: &str) -> Step {
    let terms = escalates();
    Step::Claim(Box::new(ClaimRequest {
        key: key(&terms, id),
        input: FingerprintInput::new(&b"{}"[..], &Mode::Raw, &store.keyring()).unwrap(),
        attempt_id: AttemptId::from_random(random.bytes()),
        terms,
        origin: Origin::new(Source::Api),
        holder: Holder { worker: Arc::from("host/1"), installation: None },
        jitter: Jitter(0),
    }))
}

/// Claims these in one commit; answers those that were granted.
async fn claim_all(store: Sqlite, ids: Vec<String>) -> Vec<String> {
    let random = SystemRandom::default();
    let steps = ids.iter().map(|id| claim(&store, &random, id)).collect();
    let answers = store.act(Arc::new(steps)).await.unwrap();
    let granted = ids.iter().zip(answers).filter_map(|(id, answer)| match answer.unwrap() {
        StepAnswer::Claim(Claim::Granted(lease)) => {
            assert_eq!(lease.fence, 1);
            Some(id.clone())
        }
        StepAnswer::Claim(Claim::InFlight { .. }) => None,
        other => panic!("{id}: {other:?}"),
    });
    granted.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_stores_that_claim_the_same_ids_each_id_is_granted_once() {
    let folder = Folder::new();
    let (one, two) = (open(folder.path()).await.unwrap(), open(folder.path()).await.unwrap());
    let ids: Vec<String> = (0..IDS).map(|index| format!("OP-{index:05}")).collect();
    let mut grants: HashMap<String, usize> = HashMap::new();
    for batch in ids.chunks(BATCH) {
        let backwards: Vec<String> = batch.iter().rev().cloned().collect();
        // Both at once, in opposite orders: as many races as there are batches.
        let first = tokio::spawn(claim_all(one.clone(), batch.to_vec()));
        let second = tokio::spawn(claim_all(two.clone(), backwards));
        for id in first.await.unwrap().into_iter().chain(second.await.unwrap()) {
            *grants.entry(id).or_default() += 1;
        }
    }
    assert_eq!(grants.len(), IDS);
    assert!(grants.values().all(|count| *count == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_that_open_a_new_file_at_once_share_its_keys() {
    let folder = Folder::new();
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..8 {
        opening.spawn(open(folder.path()));
    }
    let stores: Vec<Sqlite> = opening.join_all().await.into_iter().map(Result::unwrap).collect();
    let random = SystemRandom::default();
    let mut grants = 0;
    for store in &stores {
        match store.act(Arc::new(vec![claim(store, &random, "A")])).await.unwrap().remove(0).unwrap() {
            StepAnswer::Claim(Claim::Granted(_)) => grants += 1,
            // With a key of its own, the same request would look like another one.
            StepAnswer::Claim(Claim::InFlight { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(grants, 1);
}
