//! Replays on a file: sent beside what is new, within their rate, by whichever process serves the relay.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::error::REPLAY_UNBOUNDED;
use onefold_core::event::{EventType, StoredEvent};
use onefold_core::incident::SubjectSort;
use onefold_core::operation::Tenant;
use onefold_core::outbox::{EventReplay, RelayName, ReplayFilter, ReplaySpec, ReplayState};
use onefold_core::port::{
    AsideFilter, Clock as _, OutboxOperate as _, Publication, RefusedRetry, ReplayCancel, ReplayListFilter,
    ReplayOperate as _, ReplayStore as _, Staged,
};
use onefold_runtime::{Relay, Settings};
use onefold_testing::{ManualClock, RecordingTarget, SeededRandom};

use crate::relay::{OutboxFixture, ids, refused, taken, until};

fn spec(events_max: u64, rate: u32) -> ReplaySpec {
    let event_type = Some(EventType::parse("case.submitted").unwrap());
    let filter = ReplayFilter { event_type, ..ReplayFilter::of(Tenant::default()) };
    ReplaySpec::new(RelayName::parse("cases").unwrap(), filter, Some(events_max), Some(rate)).unwrap()
}

async fn state(fixture: &OutboxFixture) -> EventReplay {
    fixture.ledger.store().replays(ReplayListFilter::default(), 1).await.unwrap().remove(0)
}

async fn done(fixture: &OutboxFixture) -> EventReplay {
    until(async || state(fixture).await.state == ReplayState::Done).await;
    state(fixture).await
}

/// A relay that has published so many events.
async fn published(fixture: &OutboxFixture, target: &Arc<RecordingTarget>, events: usize) -> Vec<Staged> {
    fixture.start(fixture.relay("cases", target).page_max(10));
    fixture.declared("cases").await;
    let mut staged = Vec::new();
    for number in 0..events {
        staged.push(fixture.stage(&format!("CASE-{}", number % 3), number).await);
    }
    until(async || target.taken().len() >= events && caught_up(fixture).await).await;
    staged
}

/// Nothing waits: what was taken is settled too, so a replay finds it.
async fn caught_up(fixture: &OutboxFixture) -> bool {
    fixture.ledger.store().relays().await.unwrap().1[0].waiting == 0
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_published_is_sent_again_with_its_id_and_the_replays_own() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    let staged = published(&fixture, &target, 25).await;
    let replay = fixture.outbox().replay(spec(1_000, 10_000), "ops", "a hole").await.unwrap();
    let ended = done(&fixture).await;
    assert_eq!((ended.published, ended.refused), (25, 0));
    let (live, again) = target.taken().into_iter().partition::<Vec<_>, _>(|taken| taken.replay.is_none());
    assert_eq!(live.len(), 25, "nothing live was sent twice");
    assert!(again.iter().all(|taken| taken.replay.as_deref() == Some(replay.id.as_str())));
    for case in ["CASE-0", "CASE-1", "CASE-2"] {
        let of = |events: &[onefold_testing::TakenEvent]| -> Vec<_> {
            events.iter().filter(|taken| taken.aggregate == case).map(|taken| taken.id).collect()
        };
        assert_eq!(of(&again), of(&live), "{case}");
    }
    // The live cursor is where it was: what is new comes once.
    let next = fixture.stage("CASE-0", 100).await;
    until(async || taken(&target).contains(&next.id)).await;
    assert_eq!(target.taken().len(), staged.len() * 2 + 1);
    let error = fixture.outbox().replay(spec(5, 5), "ops", " ").await.unwrap_err();
    assert!(error.detail().contains("reason"), "{error}");
    let everything = ReplayFilter::of(Tenant::default());
    let unbounded = ReplaySpec::new(RelayName::parse("cases").unwrap(), everything, Some(5), None).unwrap_err();
    assert_eq!(unbounded.code(), REPLAY_UNBOUNDED);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_target_refuses_is_counted_and_named_and_sets_nothing_aside() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    let staged = published(&fixture, &target, 9).await;
    // The first of CASE-0: those behind it are sent all the same.
    let poison = staged[0].id;
    target.answer_with(move |stored: &StoredEvent| {
        let no = stored.event.id == poison;
        if no { refused(RefusedRetry::After(None)) } else { Publication::Published { position: None } }
    });
    fixture.outbox().replay(spec(1_000, 10_000), "ops", "a hole").await.unwrap();
    let ended = done(&fixture).await;
    assert_eq!((ended.published, ended.refused), (8, 1));
    assert_eq!(
        (ended.refusals[0].event.clone(), &*ended.refusals[0].code),
        (poison.to_string(), "EVENT_TARGET_REFUSED")
    );
    assert!(fixture.ledger.store().asides(AsideFilter::default(), 10).await.unwrap().is_empty());
    assert_eq!(fixture.incidents(SubjectSort::Event).await, 0);
    assert_eq!(target.taken().len(), 9 + 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_waits_for_a_target_that_is_away() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    published(&fixture, &target, 6).await;
    target.go_away();
    let asked = target.asked();
    fixture.outbox().replay(spec(1_000, 10_000), "ops", "a hole").await.unwrap();
    until(async || target.asked() > asked + 3).await;
    let waiting = state(&fixture).await;
    assert_eq!((waiting.state, waiting.published, waiting.refused), (ReplayState::Running, 0, 0));
    target.take_everything();
    assert_eq!(done(&fixture).await.published, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_kept_page_by_page() {
    let clock = Arc::new(ManualClock::default());
    let random = Arc::new(SeededRandom::new(7));
    let settings = Settings { clock: clock.clone(), random, ..Settings::default() };
    let fixture = OutboxFixture::with(settings).await;
    let target = Arc::new(RecordingTarget::default());
    fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    for number in 0..12 {
        fixture.stage("CASE-7", number).await;
    }
    let step = Duration::from_millis(50);
    until(async || {
        clock.advance(step);
        target.taken().len() >= 12 && caught_up(&fixture).await
    })
    .await;
    let sent_at = Arc::new(Mutex::new(Vec::new()));
    let (times, seen) = (Arc::clone(&sent_at), clock.clone());
    target.answer_with(move |_| {
        times.lock().unwrap().push(seen.monotonic());
        Publication::Published { position: None }
    });
    fixture.outbox().replay(spec(1_000, 4), "ops", "a hole").await.unwrap();
    until(async || {
        clock.advance(step);
        state(&fixture).await.state == ReplayState::Done
    })
    .await;
    let sent_at = sent_at.lock().unwrap();
    assert_eq!(sent_at.len(), 12);
    // Four a second: the ninth begins two seconds after the page of the first.
    let between = sent_at[8].saturating_sub(sent_at[0]);
    assert!(between > Duration::from_secs(1), "{between:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_replay_sends_at_most_the_page_on_its_way() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    published(&fixture, &target, 30).await;
    // Two a second: it is far from done when it is cancelled.
    let replay = fixture.outbox().replay(spec(1_000, 2), "ops", "a hole").await.unwrap();
    until(async || state(&fixture).await.published >= 2).await;
    let cancel = ReplayCancel {
        id: replay.id.clone(),
        tenant: Tenant::default(),
        who: Arc::from("ops"),
        why: Arc::from("too much"),
    };
    let ended = fixture.ledger.store().cancel_replay(cancel).await.unwrap();
    assert_eq!(ended.state, ReplayState::Cancelled);
    // The next one begins, so the last one is no longer sent.
    fixture.outbox().replay(spec(3, 10_000), "ops", "another hole").await.unwrap();
    done(&fixture).await;
    let of_first = target.taken().iter().filter(|taken| taken.replay.as_deref() == Some(replay.id.as_str())).count();
    assert!(of_first as u64 <= ended.published + 2, "{of_first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_goes_on_where_the_last_one_was() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    let staged = published(&fixture, &target, 20).await;
    fixture.outbox().replay(spec(1_000, 5), "ops", "a hole").await.unwrap();
    until(async || state(&fixture).await.published >= 5).await;
    // It ends its page and gives the replay back.
    fixture.stop.send_replace(true);
    let name = RelayName::parse("cases").unwrap();
    until(async || {
        let other = Arc::from("another");
        fixture.ledger.store().hold_replay(name.clone(), other, Duration::ZERO).await.unwrap().is_some()
    })
    .await;
    let half = state(&fixture).await;
    assert_eq!(half.state, ReplayState::Running);
    tokio::spawn(Relay::new(&fixture.outbox(), "cases").to_each(Arc::clone(&target), 16).run(std::future::pending()));
    assert_eq!(done(&fixture).await.published, 20);
    let again: Vec<_> = target.taken().into_iter().filter(|taken| taken.replay.is_some()).collect();
    assert_eq!(again.len(), staged.len(), "none is left out, and none comes twice");
    let mut sent: Vec<_> = again.iter().map(|taken| taken.id).collect();
    let mut expected = ids(&staged);
    sent.sort();
    expected.sort();
    assert_eq!(sent, expected);
}
