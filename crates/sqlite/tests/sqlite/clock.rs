//! Time on one file is one time for every writer.

use std::sync::Arc;
use std::time::Duration;

use onefold_conformance::fixture::key;
use onefold_conformance::kinds::{LEASE, SECOND, SLACK, escalates};
use onefold_conformance::ledger::outcomes::completed;
use onefold_core::Timestamp;
use onefold_core::fingerprint::{FingerprintInput, Mode};
use onefold_core::ledger::{AttemptId, Claim, ClaimRequest, Holder, Origin, Source};
use onefold_core::port::{Clock as _, LedgerRead as _, LedgerWrite as _, Random as _, Step, StepAnswer, Store as _};
use onefold_core::retry::Jitter;
use onefold_sqlite::{Sqlite, SqliteOptions};
use onefold_testing::{ManualClock, SeededRandom};

use crate::fixture::{Folder, SqliteFixture};

async fn claim(store: &Sqlite, random: &SeededRandom, id: &str) -> Claim {
    let terms = escalates();
    let request = ClaimRequest {
        key: key(&terms, id),
        input: FingerprintInput::new(&b"{}"[..], &Mode::Raw, &store.keyring()).unwrap(),
        attempt_id: AttemptId::from_random(random.bytes()),
        terms,
        origin: Origin::new(Source::Api),
        holder: Holder { worker: Arc::from("host/1"), installation: None },
        jitter: Jitter(0),
    };
    match store.act(Arc::new(vec![Step::Claim(Box::new(request))])).await.unwrap().remove(0).unwrap() {
        StepAnswer::Claim(claim) => claim,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn time_does_not_go_back_in_the_next_life() {
    let mut fixture = SqliteFixture::new().await;
    fixture.wait(3600 * SECOND);
    let first = fixture.grant(&escalates(), "A").await;
    let at = fixture.entry(&first.key).await.created_at;
    fixture.clock.set(Timestamp::from_micros(at.as_micros() - 1_800_000_000));
    fixture.reopen().await;
    let lease = fixture.grant(&escalates(), "B").await;
    let later = fixture.entry(&lease.key).await.created_at;
    assert!(later >= at, "{later} is before {at}");
}

/// A process that was started while the clock was 60 days ahead leaves that time in the file.
#[tokio::test]
async fn a_time_that_was_ahead_for_seconds_is_left_once_nothing_is_timed_by_it() {
    let mut fixture = SqliteFixture::new().await;
    let right = fixture.now();
    let ahead = right.plus(Duration::from_hours(60 * 24));
    fixture.clock.set(ahead);
    fixture.reopen().await;
    let lease = fixture.grant(&escalates(), "A").await;
    fixture.clock.set(right);
    fixture.reopen().await;
    let in_flight = fixture.grant(&escalates(), "B").await;
    assert!(fixture.entry(&in_flight.key).await.created_at >= ahead, "a lease is live that was timed by it");
    for lease in [lease, in_flight] {
        fixture.record(&escalates(), &lease, completed(b"1")).await;
    }
    fixture.reopen().await;
    let next = fixture.grant(&escalates(), "C").await;
    assert_eq!(fixture.entry(&next.key).await.created_at, right);
}

/// A process that has seen a later time shares the file with one that has not, because the clock was set back between them.
#[tokio::test]
async fn a_store_is_never_behind_what_another_one_on_its_file_has_seen() {
    let folder = Folder::new();
    let random = Arc::new(SeededRandom::new(1));
    let (ahead, behind) = (Arc::new(ManualClock::default()), Arc::new(ManualClock::default()));
    let one = Sqlite::open(folder.path(), SqliteOptions::new(ahead.clone(), random.clone())).await.unwrap();
    let two = Sqlite::open(folder.path(), SqliteOptions::new(behind.clone(), random.clone())).await.unwrap();
    ahead.advance(60 * SECOND);
    assert!(matches!(claim(&one, &random, "A").await, Claim::Granted(_)));
    let Claim::Granted(lease) = claim(&two, &random, "B").await else { panic!("not granted") };
    // The stored time may lag by a second, which is far below every slack.
    let seen = lease.lease_until.plus(SLACK);
    assert!(seen >= ahead.now().plus(LEASE), "a lease that the other store takes for expired: {seen}");
    assert!(matches!(claim(&one, &random, "B").await, Claim::InFlight { .. }), "the lease is live for everyone");
    let entry = two.find(vec![lease.key]).await.unwrap().remove(0).unwrap();
    assert!(entry.created_at.plus(2 * SECOND) >= ahead.now());
}
