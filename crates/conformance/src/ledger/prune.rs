//! Retention.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::archive::{ArchiveRecord, Deletion, History};
use onefold_core::clock::{CONFIRM_FOR, Confirmation};
use onefold_core::effect::{KindSpec, Retention};
use onefold_core::error::{CLOCK_NOT_CONFIRMED, Error, Result, STORE_UNAVAILABLE};
use onefold_core::ledger::{Claim, Digest, Note, Resolution, Status, StoredResult, Verb};
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::port::{
    Archive, LedgerMaintenance as _, LedgerRead as _, LedgerWrite as _, PruneRequest, Pruned, Store,
};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key};
use crate::harness::Harness;
use crate::kinds::{SECOND, asks, escalates, financial, reruns};
use crate::ledger::outcomes::{completed, proved, rejected, retryable, unknown};

const DAY: Duration = Duration::from_hours(24);

fn ids(terms: &KindSpec, id_for: Duration) -> (KindName, Retention) {
    (terms.kind.clone(), Retention { id_for: Some(id_for), ..Retention::default() })
}

fn results(terms: &KindSpec, result_for: Duration) -> (KindName, Retention) {
    (terms.kind.clone(), Retention { result_for: Some(result_for), ..Retention::default() })
}

async fn all_of<H: Harness>(fixture: &StoreFixture<H>, rules: Vec<(KindName, Retention)>) -> PruneRequest {
    PruneRequest { by: fixture.confirmed().await, rules, limit: 100, archive: None, dry_run: false }
}

async fn pruned<H: Harness>(fixture: &StoreFixture<H>, request: PruneRequest) -> Pruned {
    fixture.store().prune(request).await.expect("the prune is committed")
}

async fn done<H: Harness>(fixture: &StoreFixture<H>, terms: &Arc<KindSpec>, id: &str) {
    let lease = fixture.grant(terms, id).await;
    fixture.record(terms, &lease, proved(b"{\"n\":1}", "doc/1")).await;
}

/// A settled operation is forgotten when its time is over and not before; then a duplicate **is performed**.
pub async fn a_settled_operation_is_forgotten_when_its_time_is_over<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    done(&fixture, &terms, "A").await;
    let lease = fixture.grant(&terms, "B").await;
    fixture.record(&terms, &lease, rejected()).await;
    fixture.wait(DAY - SECOND);
    assert_eq!(pruned(&fixture, all_of(&fixture, vec![ids(&terms, DAY)]).await).await, Pruned::default());
    assert!(matches!(fixture.claim(fixture.claim_of(&terms, "A")).await, Claim::Replay(_)));
    fixture.wait(SECOND);
    let both = Pruned { operations: 2, ..Pruned::default() };
    assert_eq!(pruned(&fixture, all_of(&fixture, vec![ids(&terms, DAY)]).await).await, both);
    for id in ["A", "B"] {
        assert_eq!(fixture.find(&key(&terms, id)).await, None);
        assert_eq!(fixture.store().timeline(key(&terms, id)).await.expect("read"), None);
        assert_eq!(granted(fixture.claim(fixture.claim_of(&terms, id)).await).fence, 1, "a new operation");
    }
}

/// What is open is never forgotten, however old: started, unknown, waiting, released, or with an open incident.
pub async fn what_is_open_is_never_forgotten<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    fixture.grant(&terms, "STARTED").await;
    let waiting = fixture.grant(&terms, "WAITING").await;
    fixture.record(&terms, &waiting, retryable(Category::Maintenance)).await;
    let released = fixture.grant(&terms, "RELEASED").await;
    fixture.release(&terms, &released).await;
    let alarmed = fixture.grant(&terms, "ALARMED").await;
    fixture.record(&terms, &alarmed, completed(b"1")).await;
    fixture.record(&terms, &alarmed, rejected()).await;
    let unknown_one = fixture.grant(&escalates(), "UNKNOWN").await;
    fixture.record(&escalates(), &unknown_one, unknown(Category::DownstreamTimeout)).await;
    let asked = fixture.grant(&asks(), "ASKED").await;
    fixture.record(&asks(), &asked, unknown(Category::DownstreamTimeout)).await;
    done(&fixture, &financial(), "OTHER-KIND").await;
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
        before.push(fixture.entry(key).await);
    }
    fixture.wait(1000 * DAY);
    let rules = [reruns(), escalates(), asks()];
    let rules = rules.iter().flat_map(|terms| [ids(terms, DAY), results(terms, DAY)]).collect();
    assert_eq!(pruned(&fixture, all_of(&fixture, rules).await).await, Pruned::default());
    for (key, before) in keys.iter().zip(before) {
        assert_eq!(fixture.entry(key).await, before, "{key}");
    }
}

/// A dry run counts and changes nothing.
pub async fn a_dry_run_changes_nothing<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    done(&fixture, &terms, "A").await;
    done(&fixture, &other, "B").await;
    fixture.wait(DAY);
    let before = (fixture.entry(&key(&terms, "A")).await, fixture.entry(&key(&other, "B")).await);
    let kept = MemoryArchive::default();
    let request = PruneRequest {
        dry_run: true,
        archive: Some(Arc::new(kept.clone())),
        ..all_of(&fixture, vec![ids(&terms, DAY), results(&other, DAY)]).await
    };
    assert_eq!(pruned(&fixture, request).await, Pruned { operations: 1, results: 1, more: false });
    assert_eq!((fixture.entry(&key(&terms, "A")).await, fixture.entry(&key(&other, "B")).await), before);
    assert!(kept.lines().is_empty());
}

/// A result is dropped before its id: a duplicate is told so, and never performed again.
pub async fn a_result_is_dropped_and_its_id_stays<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    done(&fixture, &terms, "A").await;
    fixture.wait(DAY);
    let rule = Retention { result_for: Some(DAY), id_for: Some(2 * DAY), redelivery_for: None };
    let rules = vec![(terms.kind.clone(), rule)];
    assert_eq!(
        pruned(&fixture, all_of(&fixture, rules.clone()).await).await,
        Pruned { results: 1, ..Pruned::default() }
    );
    assert_eq!(pruned(&fixture, all_of(&fixture, rules.clone()).await).await, Pruned::default(), "it is dropped once");
    let digest = StoredResult::Digest {
        content_type: Some(Arc::from("application/json")),
        bytes: 7,
        digest: Digest::of(b"{\"n\":1}"),
        reference: Some(Arc::from("doc/1")),
    };
    match fixture.claim(fixture.claim_of(&terms, "A")).await {
        Claim::Replay(replay) => assert_eq!((replay.status, replay.result), (Status::Completed, Some(digest))),
        other => panic!("{other:?}"),
    }
    fixture.wait(DAY);
    assert_eq!(pruned(&fixture, all_of(&fixture, rules).await).await, Pruned { operations: 1, ..Pruned::default() });
}

/// A kind without a rule is kept.
pub async fn a_kind_without_a_rule_is_kept<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    done(&fixture, &terms, "A").await;
    done(&fixture, &other, "B").await;
    fixture.wait(1000 * DAY);
    assert_eq!(
        pruned(&fixture, all_of(&fixture, vec![(terms.kind.clone(), Retention::default())]).await).await,
        Pruned::default()
    );
    assert_eq!(pruned(&fixture, all_of(&fixture, vec![ids(&terms, DAY)]).await).await.operations, 1);
    assert!(fixture.find(&key(&other, "B")).await.is_some());
}

/// A prune takes small slices and says whether there is more.
pub async fn a_prune_takes_slices_and_says_that_there_is_more<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    for index in 0..4 {
        done(&fixture, &terms, &format!("OP-{index}")).await;
        done(&fixture, &other, &format!("OP-{index}")).await;
    }
    fixture.wait(DAY);
    let mut slices = Vec::new();
    loop {
        let request = PruneRequest { limit: 3, ..all_of(&fixture, vec![ids(&terms, DAY), results(&other, DAY)]).await };
        let slice = pruned(&fixture, request).await;
        assert!(slice.operations + slice.results <= 3, "{slice:?}");
        slices.push((slice.operations, slice.results));
        if !slice.more {
            break;
        }
    }
    let total = slices.iter().fold((0, 0), |total, slice| (total.0 + slice.0, total.1 + slice.1));
    assert_eq!(total, (4, 4), "{slices:?}");
}

/// What stays open in front keeps nothing behind it from being forgotten, and is found itself when its time is over,
/// wherever an earlier prune stopped.
pub async fn what_is_open_in_front_keeps_nothing_behind_it<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let mut open = Vec::new();
    for index in 0..5 {
        open.push(fixture.grant(&terms, &format!("OPEN-{index}")).await);
    }
    for index in 0..9 {
        fixture.wait(SECOND);
        done(&fixture, &terms, &format!("DONE-{index}")).await;
    }
    fixture.wait(DAY);
    let some = PruneRequest { limit: 2, ..all_of(&fixture, vec![ids(&terms, DAY)]).await };
    for slice in 0..3 {
        let two = Pruned { operations: 2, results: 0, more: true };
        assert_eq!(pruned(&fixture, some.clone()).await, two, "slice {slice}");
    }
    // Recorded late, so the rest of the time goes by for them too.
    for lease in &open {
        fixture.record(&terms, lease, proved(b"{\"n\":1}", "doc/1")).await;
    }
    let rest = Pruned { operations: 3, ..Pruned::default() };
    assert_eq!(pruned(&fixture, all_of(&fixture, vec![ids(&terms, DAY)]).await).await, rest);
    fixture.wait(SECOND);
    done(&fixture, &terms, "LAST").await;
    fixture.wait(DAY);
    let one = PruneRequest { limit: 1, ..all_of(&fixture, vec![ids(&terms, DAY)]).await };
    assert_eq!(pruned(&fixture, one).await, Pruned { operations: 1, results: 0, more: true });
    let rest = Pruned { operations: 5, ..Pruned::default() };
    assert_eq!(pruned(&fixture, all_of(&fixture, vec![ids(&terms, DAY)]).await).await, rest);
}

/// An archive that remembers the lines it was given, or refuses them.
#[derive(Clone, Default)]
struct MemoryArchive {
    lines: Arc<Mutex<Vec<String>>>,
    refuses: bool,
}

impl MemoryArchive {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no panic while it is written").clone()
    }

    /// What the lines say, read back.
    fn records(&self) -> Vec<ArchiveRecord> {
        self.lines().iter().map(|line| ArchiveRecord::parse(line).expect("the line is read back")).collect()
    }
}

impl Archive for MemoryArchive {
    fn keep(&self, deletion: &Deletion) -> Result<()> {
        if self.refuses {
            return Err(Error::new(STORE_UNAVAILABLE, "the archive has no room"));
        }
        let lines: Result<Vec<_>> = deletion.records().iter().map(ArchiveRecord::to_line).collect();
        self.lines.lock().expect("no panic while it is written").extend(lines?);
        Ok(())
    }
}

/// An operation with everything that can be stored of one: a lost attempt, an incident that a person closed, somebody who
/// looked, and a result that is not text.
async fn eventful<H: Harness>(fixture: &StoreFixture<H>, terms: &Arc<KindSpec>, id: &str) -> OperationKey {
    let lost = fixture.lost(terms, id).await;
    let verb = Verb::Resolve(Resolution::DidNotHappen { force: true });
    fixture.resolve(terms, id, "ada", verb).await.expect("the person is believed");
    let note = Note {
        at: fixture.now(),
        who: Arc::from("ada"),
        what: Arc::from("looked at the result"),
        why: None,
        fence: lost.fence,
    };
    fixture.store().append_audit(lost.key.clone(), note).await.expect("the note is added");
    let lease = fixture.grant(terms, id).await;
    fixture.record(terms, &lease, completed(b"\xff\xfe\x00 not text")).await;
    lost.key
}

/// Everything that is deleted is in the archive: what the lines say, read back, is what the store said before.
pub async fn the_archive_has_everything_that_was_deleted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let key = eventful(&fixture, &terms, "A").await;
    let mut incidents = fixture.incidents_of(&key).await;
    incidents.reverse();
    let before = (fixture.entry(&key).await, fixture.timeline(&key).await, incidents);
    assert!(before.1.len() >= 6 && before.2.len() == 1, "{before:?}");
    fixture.wait(DAY);
    let kept = MemoryArchive::default();
    let request =
        PruneRequest { archive: Some(Arc::new(kept.clone())), ..all_of(&fixture, vec![ids(&terms, DAY)]).await };
    assert_eq!(pruned(&fixture, request).await.operations, 1);
    let (mut entry, mut attempts, mut notes, mut incidents) = (None, Vec::new(), Vec::new(), Vec::new());
    for record in kept.records() {
        assert_eq!(record.key(), Some(key.clone()));
        match record {
            ArchiveRecord::Operation(one) => entry = Some(*one),
            ArchiveRecord::Attempt(attempt) => attempts.push(*attempt),
            ArchiveRecord::Note(_, note) => notes.push(note),
            ArchiveRecord::Incident(incident) => incidents.push(*incident),
            ArchiveRecord::Result(..) => panic!("nobody dropped a result alone"),
        }
    }
    let history = History { entry: entry.expect("the operation is archived"), attempts, notes, incidents };
    assert_eq!((history.entry.clone(), history.timeline(), history.incidents), before);
}

/// A result that is dropped alone is in the archive, bytewise.
pub async fn the_archive_has_the_results_that_were_dropped<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let bytes = b"\xff\xfe\x00 not text";
    let lease = fixture.grant(&terms, "A").await;
    fixture.record(&terms, &lease, completed(bytes)).await;
    let before = fixture.entry(&lease.key).await.result;
    fixture.wait(DAY);
    let kept = MemoryArchive::default();
    let request =
        PruneRequest { archive: Some(Arc::new(kept.clone())), ..all_of(&fixture, vec![results(&terms, DAY)]).await };
    assert_eq!(pruned(&fixture, request).await.results, 1);
    assert_eq!(kept.records(), [ArchiveRecord::Result(lease.key, before.expect("it had a result"))]);
}

/// An archive during whose writing somebody looks at an operation.
struct WatchedArchive<S> {
    kept: MemoryArchive,
    store: Arc<S>,
    key: OperationKey,
    at: Timestamp,
}

impl<S: Store> Archive for WatchedArchive<S> {
    fn keep(&self, deletion: &Deletion) -> Result<()> {
        self.kept.keep(deletion)?;
        let note = Note { at: self.at, who: Arc::from("bob"), what: Arc::from("looked"), why: None, fence: 1 };
        tokio::runtime::Handle::current().block_on(self.store.append_audit(self.key.clone(), note))
    }
}

/// What was said while the archive was written is not in it, so it is not deleted.
pub async fn what_is_not_in_the_archive_is_not_deleted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    done(&fixture, &terms, "A").await;
    let key = key(&terms, "A");
    fixture.wait(DAY);
    let kept = MemoryArchive::default();
    let looked =
        WatchedArchive { kept: kept.clone(), store: Arc::clone(fixture.store()), key: key.clone(), at: fixture.now() };
    let request = PruneRequest { archive: Some(Arc::new(looked)), ..all_of(&fixture, vec![ids(&terms, DAY)]).await };
    assert_eq!(pruned(&fixture, request).await.operations, 0);
    let story = fixture.story(&key).await;
    assert!(story.iter().any(|line| line.contains("bob: looked")), "{story:?}");
    let request =
        PruneRequest { archive: Some(Arc::new(kept.clone())), ..all_of(&fixture, vec![ids(&terms, DAY)]).await };
    assert_eq!(pruned(&fixture, request).await.operations, 1);
    assert!(kept.lines().iter().any(|line| line.contains("bob")), "{:?}", kept.lines());
}

/// A time of day that is 60 days ahead for seconds deletes nothing, in a process that looks on and in one that starts.
pub async fn a_clock_that_jumps_ahead_for_seconds_deletes_nothing<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let terms = financial();
    done(&fixture, &terms, "A").await;
    let rules = vec![ids(&terms, 30 * DAY), results(&terms, DAY)];
    let right = fixture.now();
    fixture.clock.set(right.plus(60 * DAY));
    for _ in 0..3 {
        let confirmation = fixture.store().confirm_time().await.expect("the clock is looked at");
        let Confirmation::Waiting(jump) = confirmation else { panic!("{confirmation:?}") };
        assert_eq!(jump.error().code(), CLOCK_NOT_CONFIRMED);
        fixture.wait(SECOND);
        fixture.reopen().await;
    }
    fixture.clock.set(right.plus(4 * SECOND));
    fixture.reopen().await;
    let request = all_of(&fixture, rules).await;
    assert_eq!(request.by.at(), fixture.now());
    assert_eq!(pruned(&fixture, request).await, Pruned::default());
    match fixture.claim(fixture.claim_of(&terms, "A")).await {
        Claim::Replay(replay) => assert!(matches!(replay.result, Some(StoredResult::Kept { .. })), "{replay:?}"),
        other => panic!("it would be performed again: {other:?}"),
    }
}

/// A time that lasts is believed: after a while by the clock that never goes back, or on the next start.
pub async fn a_clock_that_was_right_is_confirmed<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let right = fixture.now();
    fixture.clock.set(right.plus(60 * DAY));
    assert!(matches!(fixture.store().confirm_time().await, Ok(Confirmation::Waiting(_))));
    fixture.wait(CONFIRM_FOR);
    assert_eq!(fixture.confirmed().await.at(), fixture.now());
    for _ in 0..2 {
        // A store that was out of use for a month.
        fixture.wait(30 * DAY);
        fixture.reopen().await;
        assert!(matches!(fixture.store().confirm_time().await, Ok(Confirmation::Waiting(_))));
        fixture.wait(CONFIRM_FOR);
        fixture.reopen().await;
        assert_eq!(fixture.confirmed().await.at(), fixture.now());
    }
}

/// The archive is written first: when it refuses, nothing is deleted.
pub async fn a_failing_archive_deletes_nothing<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (terms, other) = (escalates(), financial());
    done(&fixture, &terms, "A").await;
    done(&fixture, &other, "B").await;
    let before = (fixture.entry(&key(&terms, "A")).await, fixture.entry(&key(&other, "B")).await);
    fixture.wait(DAY);
    let refuses: Arc<dyn Archive> = Arc::new(MemoryArchive { refuses: true, ..MemoryArchive::default() });
    let request =
        PruneRequest { archive: Some(refuses), ..all_of(&fixture, vec![ids(&terms, DAY), results(&other, DAY)]).await };
    let error = fixture.store().prune(request).await.expect_err("the archive refused");
    assert_eq!(error.code(), STORE_UNAVAILABLE);
    assert_eq!((fixture.entry(&key(&terms, "A")).await, fixture.entry(&key(&other, "B")).await), before);
}

/// The closed incidents and the attempts of a forgotten operation are forgotten with it.
pub async fn a_forgotten_operation_takes_its_history_along<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.lost(&terms, "A").await;
    fixture.record(&terms, &lease, completed(b"1")).await;
    done(&fixture, &financial(), "A").await;
    assert_eq!(fixture.incidents_of(&lease.key).await.len(), 1);
    fixture.wait(DAY);
    assert_eq!(pruned(&fixture, all_of(&fixture, vec![ids(&terms, DAY)]).await).await.operations, 1);
    assert!(fixture.incidents_of(&lease.key).await.is_empty());
    fixture.grant(&terms, "A").await;
    assert_eq!(fixture.story(&lease.key).await.len(), 1, "the new operation begins its own story");
    assert_eq!(fixture.story(&key(&financial(), "A")).await.len(), 2);
}
