//! Retention.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::effect::{Retention, Terms};
use onefold_core::error::{Error, Result, STORE_UNAVAILABLE};
use onefold_core::ledger::{Claim, Digest, Entry, Status, StoredResult};
use onefold_core::operation::KindName;
use onefold_core::ports::{Archive, Keep as _, Look as _, PruneRequest, Pruned};
use onefold_core::retry::Category;

use crate::harness::Harness;
use crate::kinds::{SECOND, asks, escalates, financial, reruns};
use crate::outcomes::{completed, proved, rejected, retryable, unknown};
use crate::scene::{Scene, granted, key};

const DAY: Duration = Duration::from_hours(24);

fn ids(terms: &Terms, id_for: Duration) -> (KindName, Retention) {
    (terms.kind.clone(), Retention { id_for: Some(id_for), ..Retention::default() })
}

fn results(terms: &Terms, result_for: Duration) -> (KindName, Retention) {
    (terms.kind.clone(), Retention { result_for: Some(result_for), ..Retention::default() })
}

fn all_of(rules: Vec<(KindName, Retention)>) -> PruneRequest {
    PruneRequest { rules, limit: 100, archive: None, dry_run: false }
}

async fn pruned<H: Harness>(scene: &Scene<H>, request: PruneRequest) -> Pruned {
    scene.store().prune(request).await.expect("the prune is committed")
}

async fn done<H: Harness>(scene: &Scene<H>, terms: &Arc<Terms>, id: &str) {
    let lease = scene.grant(terms, id).await;
    scene.record(terms, &lease, proved(b"{\"n\":1}", "doc/1")).await;
}

/// A settled operation is forgotten when its time is over and not before; then a duplicate **is performed**.
pub async fn a_settled_operation_is_forgotten_when_its_time_is_over<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    done(&scene, &terms, "A").await;
    let lease = scene.grant(&terms, "B").await;
    scene.record(&terms, &lease, rejected()).await;
    scene.wait(DAY - SECOND);
    assert_eq!(pruned(&scene, all_of(vec![ids(&terms, DAY)])).await, Pruned::default());
    assert!(matches!(scene.claim(scene.claim_of(&terms, "A")).await, Claim::Replay(_)));
    scene.wait(SECOND);
    let both = Pruned { operations: 2, ..Pruned::default() };
    assert_eq!(pruned(&scene, all_of(vec![ids(&terms, DAY)])).await, both);
    for id in ["A", "B"] {
        assert_eq!(scene.find(&key(&terms, id)).await, None);
        assert_eq!(scene.store().timeline(key(&terms, id)).await.expect("read"), None);
        assert_eq!(granted(scene.claim(scene.claim_of(&terms, id)).await).fence, 1, "a new operation");
    }
}

/// What is open is never forgotten, however old: started, unknown, waiting, released, or with an open incident.
pub async fn what_is_open_is_never_forgotten<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = reruns();
    scene.grant(&terms, "STARTED").await;
    let waiting = scene.grant(&terms, "WAITING").await;
    scene.record(&terms, &waiting, retryable(Category::Maintenance)).await;
    let released = scene.grant(&terms, "RELEASED").await;
    scene.release(&terms, &released).await;
    let alarmed = scene.grant(&terms, "ALARMED").await;
    scene.record(&terms, &alarmed, completed(b"1")).await;
    scene.record(&terms, &alarmed, rejected()).await;
    let unknown_one = scene.grant(&escalates(), "UNKNOWN").await;
    scene.record(&escalates(), &unknown_one, unknown(Category::DownstreamTimeout)).await;
    let asked = scene.grant(&asks(), "ASKED").await;
    scene.record(&asks(), &asked, unknown(Category::DownstreamTimeout)).await;
    done(&scene, &financial(), "OTHER-KIND").await;
    let keys = [
        key(&terms, "STARTED"),
        waiting.key,
        released.key,
        alarmed.key,
        unknown_one.key,
        asked.key,
        key(&financial(), "OTHER-KIND"),
    ];
    let mut before = Vec::new();
    for key in &keys {
        before.push(scene.entry(key).await);
    }
    scene.wait(1000 * DAY);
    let rules = [reruns(), escalates(), asks()];
    let rules = rules.iter().flat_map(|terms| [ids(terms, DAY), results(terms, DAY)]).collect();
    assert_eq!(pruned(&scene, all_of(rules)).await, Pruned::default());
    for (key, before) in keys.iter().zip(before) {
        assert_eq!(scene.entry(key).await, before, "{key}");
    }
}

/// A dry run counts and changes nothing.
pub async fn a_dry_run_changes_nothing<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    done(&scene, &terms, "A").await;
    done(&scene, &other, "B").await;
    scene.wait(DAY);
    let before = (scene.entry(&key(&terms, "A")).await, scene.entry(&key(&other, "B")).await);
    let kept = Kept::default();
    let request = PruneRequest {
        dry_run: true,
        archive: Some(Arc::new(kept.clone())),
        ..all_of(vec![ids(&terms, DAY), results(&other, DAY)])
    };
    assert_eq!(pruned(&scene, request).await, Pruned { operations: 1, results: 1, more: false });
    assert_eq!((scene.entry(&key(&terms, "A")).await, scene.entry(&key(&other, "B")).await), before);
    assert!(kept.entries().is_empty());
}

/// A result is dropped before its id: a duplicate is told so, and never performed again.
pub async fn a_result_is_dropped_and_its_id_stays<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    done(&scene, &terms, "A").await;
    scene.wait(DAY);
    let rule = Retention { result_for: Some(DAY), id_for: Some(2 * DAY), redelivery_for: None };
    let rules = vec![(terms.kind.clone(), rule)];
    assert_eq!(pruned(&scene, all_of(rules.clone())).await, Pruned { results: 1, ..Pruned::default() });
    assert_eq!(pruned(&scene, all_of(rules.clone())).await, Pruned::default(), "it is dropped once");
    let digest = StoredResult::Digest {
        content_type: Some(Arc::from("application/json")),
        bytes: 7,
        digest: Digest::of(b"{\"n\":1}"),
        reference: Some(Arc::from("doc/1")),
    };
    match scene.claim(scene.claim_of(&terms, "A")).await {
        Claim::Replay(replay) => assert_eq!((replay.status, replay.result), (Status::Completed, Some(digest))),
        other => panic!("{other:?}"),
    }
    scene.wait(DAY);
    assert_eq!(pruned(&scene, all_of(rules)).await, Pruned { operations: 1, ..Pruned::default() });
}

/// A kind without a rule is kept.
pub async fn a_kind_without_a_rule_is_kept<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    done(&scene, &terms, "A").await;
    done(&scene, &other, "B").await;
    scene.wait(1000 * DAY);
    assert_eq!(pruned(&scene, all_of(vec![(terms.kind.clone(), Retention::default())])).await, Pruned::default());
    assert_eq!(pruned(&scene, all_of(vec![ids(&terms, DAY)])).await.operations, 1);
    assert!(scene.find(&key(&other, "B")).await.is_some());
}

/// A prune takes small slices and says whether there is more.
pub async fn a_prune_takes_slices_and_says_that_there_is_more<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    for index in 0..4 {
        done(&scene, &terms, &format!("OP-{index}")).await;
        done(&scene, &other, &format!("OP-{index}")).await;
    }
    scene.wait(DAY);
    let mut slices = Vec::new();
    loop {
        let request = PruneRequest { limit: 3, ..all_of(vec![ids(&terms, DAY), results(&other, DAY)]) };
        let slice = pruned(&scene, request).await;
        assert!(slice.operations + slice.results <= 3, "{slice:?}");
        slices.push((slice.operations, slice.results));
        if !slice.more {
            break;
        }
    }
    let total = slices.iter().fold((0, 0), |total, slice| (total.0 + slice.0, total.1 + slice.1));
    assert_eq!(total, (4, 4), "{slices:?}");
}

/// An archive that remembers what it was given, or refuses it.
#[derive(Clone, Default)]
struct Kept {
    entries: Arc<Mutex<Vec<Entry>>>,
    refuses: bool,
}

impl Kept {
    fn entries(&self) -> Vec<Entry> {
        self.entries.lock().expect("no panic while it is written").clone()
    }
}

impl Archive for Kept {
    fn keep(&self, entries: &[Entry]) -> Result<()> {
        if self.refuses {
            return Err(Error::new(STORE_UNAVAILABLE, "the archive has no room"));
        }
        self.entries.lock().expect("no panic while it is written").extend_from_slice(entries);
        Ok(())
    }
}

/// What is deleted is in the archive, whole.
pub async fn the_archive_has_what_was_deleted<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    done(&scene, &terms, "A").await;
    let entry = scene.entry(&key(&terms, "A")).await;
    scene.wait(DAY);
    let kept = Kept::default();
    let request = PruneRequest { archive: Some(Arc::new(kept.clone())), ..all_of(vec![ids(&terms, DAY)]) };
    assert_eq!(pruned(&scene, request).await.operations, 1);
    assert_eq!(kept.entries(), [entry]);
}

/// The archive is written first: when it refuses, nothing is deleted.
pub async fn a_failing_archive_deletes_nothing<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    done(&scene, &terms, "A").await;
    done(&scene, &other, "B").await;
    let before = (scene.entry(&key(&terms, "A")).await, scene.entry(&key(&other, "B")).await);
    scene.wait(DAY);
    let refuses: Arc<dyn Archive> = Arc::new(Kept { refuses: true, ..Kept::default() });
    let request = PruneRequest { archive: Some(refuses), ..all_of(vec![ids(&terms, DAY), results(&other, DAY)]) };
    let error = scene.store().prune(request).await.expect_err("the archive refused");
    assert_eq!(error.code(), STORE_UNAVAILABLE);
    assert_eq!((scene.entry(&key(&terms, "A")).await, scene.entry(&key(&other, "B")).await), before);
}

/// The closed incidents and the attempts of a forgotten operation are forgotten with it.
pub async fn a_forgotten_operation_takes_its_history_along<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.lost(&terms, "A").await;
    scene.record(&terms, &lease, completed(b"1")).await;
    done(&scene, &financial(), "A").await;
    assert_eq!(scene.incidents_of(&lease.key).await.len(), 1);
    scene.wait(DAY);
    assert_eq!(pruned(&scene, all_of(vec![ids(&terms, DAY)])).await.operations, 1);
    assert!(scene.incidents_of(&lease.key).await.is_empty());
    scene.grant(&terms, "A").await;
    assert_eq!(scene.story(&lease.key).await.len(), 1, "the new operation begins its own story");
    assert_eq!(scene.story(&key(&financial(), "A")).await.len(), 2);
}
