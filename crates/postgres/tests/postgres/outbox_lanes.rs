//! Lanes: shared among holders, fenced when they change hands, and what a settled page changes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::error::{DECLARATION_INVALID, RELAY_NOT_FOUND, RELAY_STOPPED};
use onefold_core::outbox::{AsideStatus, CursorStep, LaneHealth, RelayName, RelaySpec, WindowEnd};
use onefold_core::port::{LaneRequest, OutboxOperate as _, RelayStore as _, RelayVerb};
use onefold_postgres::{Postgres, PostgresOptions, Time};
use onefold_testing::ManualClock;

use crate::fixture::{Schema, run};
use crate::outbox_fixture::{LONG, OutboxFixture, aside, events, patterns, settlement, spec};

/// A store whose leases a test lets end.
async fn timed() -> (OutboxFixture, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let schema = Schema::new();
    let options =
        PostgresOptions { clock: clock.clone(), time: Time::Clock, answer_wait: LONG * 1000, ..schema.options() };
    let store = Postgres::open(schema.url(), options).await.unwrap();
    let outbox = OutboxFixture { schema, store, spec: spec("cases", &["*"]) };
    outbox.declare(outbox.spec.clone()).await.unwrap();
    (outbox, clock)
}

fn lanes(held: &onefold_core::port::HeldLanes) -> HashSet<u16> {
    held.cursors.iter().map(|cursor| cursor.lane).collect()
}

#[tokio::test]
async fn two_holders_share_the_lanes_and_a_third_gets_its_part() {
    let (outbox, clock) = timed().await;
    let first = outbox.hold("host/1", LONG).await;
    assert_eq!((first.cursors.len(), first.surplus.len()), (64, 0));
    assert!(outbox.hold("host/2", LONG).await.cursors.is_empty(), "nothing is taken from a living holder");
    let renewed = outbox.hold("host/1", LONG).await;
    assert_eq!((renewed.cursors.len(), renewed.surplus.len()), (64, 32), "another one wants its share");
    let fences = |held: &onefold_core::port::HeldLanes| held.cursors.iter().map(|c| c.fence).collect::<Vec<_>>();
    assert_eq!(fences(&renewed), fences(&first), "a renewed lane keeps its fence");
    let kept = outbox.hold_and_give_back("host/1", LONG, renewed.surplus.clone()).await;
    assert_eq!(kept.cursors.len(), 32);
    let second = outbox.hold("host/2", LONG).await;
    assert_eq!(second.cursors.len(), 32);
    assert!(lanes(&second).is_disjoint(&lanes(&kept)));
    assert!(second.cursors.iter().all(|cursor| cursor.fence == 2), "each changed its holder");
    outbox.hold("host/3", LONG).await;
    assert_eq!(outbox.hold("host/1", LONG).await.surplus.len(), 32 - 22);
    // Those who are gone leave everything to the last one, which has held its lanes all along.
    clock.advance(LONG + Duration::from_secs(1));
    let all = outbox.hold("host/2", LONG).await;
    assert_eq!(all.cursors.len(), 64);
    assert!(all.cursors.iter().all(|cursor| cursor.fence == 2), "each lane changed its holder once");
}

#[tokio::test]
async fn a_process_that_gives_everything_back_leaves_the_others_no_part_of_it() {
    let outbox = OutboxFixture::new().await;
    let first = outbox.hold("host/1", LONG).await;
    let left = outbox.hold_and_give_back("host/1", LONG, lanes(&first).into_iter().collect()).await;
    assert!(left.cursors.is_empty());
    assert_eq!(outbox.hold("host/2", LONG).await.cursors.len(), 64);
}

#[tokio::test]
async fn the_longest_unserved_lanes_are_taken_first() {
    let (outbox, clock) = timed().await;
    let first = outbox.hold("host/1", LONG).await;
    let early: Vec<u16> = first.cursors[..4].iter().map(|cursor| cursor.lane).collect();
    outbox.hold_and_give_back("host/1", LONG, early.clone()).await;
    clock.advance(Duration::from_secs(1));
    let mut connection = outbox.connect().await;
    // Somebody else is taking one of them: nobody waits for it.
    run(&mut connection, "BEGIN; SELECT 1 FROM onefold_relay_lanes WHERE lane = 0 FOR UPDATE").await;
    let second = outbox.hold("host/2", LONG).await;
    let expected: HashSet<u16> = early.into_iter().filter(|lane| *lane != 0).collect();
    assert_eq!(lanes(&second), expected);
}

#[tokio::test]
async fn a_stale_holder_moves_and_settles_nothing() {
    let (outbox, clock) = timed().await;
    outbox.stage(&events("CASE-7", 3)).await;
    let first = outbox.hold("host/1", Duration::from_secs(30)).await;
    let (window, read) = outbox.open_windows(&first.cursors).await.remove(0);
    clock.advance(Duration::from_secs(31));
    let second = outbox.hold("host/2", Duration::from_secs(30)).await;
    let taken = second.cursors.iter().find(|cursor| cursor.lane == window.lane).unwrap();
    assert_eq!((taken.fence, &taken.until), (window.fence + 1, &window.until), "the window is stored");
    let mut page = settlement(&window, Some(read[2].seq), WindowEnd::Reached);
    page.asides.push(aside(&outbox, window.lane, &read[0], AsideStatus::Waiting));
    assert!(outbox.store.settle(outbox.relay(), vec![page], Vec::new()).await.unwrap().is_empty());
    let step = vec![(window.clone(), CursorStep::CloseWindow)];
    assert!(outbox.store.move_cursors(outbox.relay(), step).await.unwrap().is_empty());
    let after = outbox.hold("host/2", LONG).await;
    assert_eq!(after.cursors.iter().find(|cursor| cursor.lane == window.lane), Some(taken));
    assert_eq!((after.set_aside, after.blocked.len()), (0, 0));
    // A lane that is still held is settled beside one that is not.
    let page = settlement(taken, Some(read[0].seq), WindowEnd::Open);
    let other = settlement(&first.cursors[usize::from(window.lane != 1)], None, WindowEnd::Open);
    assert_eq!(outbox.store.settle(outbox.relay(), vec![other, page], Vec::new()).await.unwrap(), [taken.lane]);
}

#[tokio::test]
async fn a_page_that_is_settled_twice_is_settled_once() {
    let outbox = OutboxFixture::new().await;
    outbox.stage(&events("CASE-7", 3)).await;
    let held = outbox.hold("host/1", LONG).await;
    let (window, read) = outbox.open_windows(&held.cursors).await.remove(0);
    let first = settlement(&window, Some(read[0].seq), WindowEnd::Open);
    let last = settlement(&window, Some(read[2].seq), WindowEnd::Reached);
    for page in [&first, &first, &last, &last] {
        let moved = outbox.store.settle(outbox.relay(), vec![page.clone()], Vec::new()).await.unwrap();
        assert_eq!(moved, [window.lane]);
    }
    let mut connection = outbox.connect().await;
    let pages: i64 =
        sqlx::query_scalar("SELECT count(*) FROM onefold_relay_pages").fetch_one(&mut connection).await.unwrap();
    assert_eq!(pages, 2);
    let after = outbox.hold("host/1", LONG).await;
    let cursor = after.cursors.iter().find(|cursor| cursor.lane == window.lane).unwrap();
    assert_eq!((Some(&cursor.since), &cursor.until, cursor.pos), (window.until.as_ref(), &None, 0));
    assert!(outbox.publish("host/1").await.is_empty());
}

#[tokio::test]
async fn a_lane_that_stops_stays_stopped_until_a_person_starts_it() {
    let outbox = OutboxFixture::new().await;
    outbox.stage(&events("CASE-7", 2)).await;
    let held = outbox.hold("host/1", LONG).await;
    let (window, read) = outbox.open_windows(&held.cursors).await.remove(0);
    let mut page = settlement(&window, Some(read[0].seq), WindowEnd::Open);
    let code = onefold_core::error::EVENT_TARGET_REFUSED.name();
    page.health = LaneHealth { judged: 7, refused: [(code, vec![3, 7])].into() };
    page.stopped = Some(RELAY_STOPPED);
    outbox.store.settle(outbox.relay(), vec![page.clone()], Vec::new()).await.unwrap();
    let find = async || {
        let held = outbox.hold("host/1", LONG).await;
        held.cursors.into_iter().find(|cursor| cursor.lane == window.lane).unwrap()
    };
    let stopped = find().await;
    assert_eq!((&stopped.health, stopped.stopped), (&page.health, Some(RELAY_STOPPED.name())));
    let (_, relays) = outbox.store.relays().await.unwrap();
    assert_eq!((relays[0].stopped.clone(), relays[0].waiting), (Some(RELAY_STOPPED.name()), 1));
    assert_eq!(outbox.store.start(verb("cases")).await.unwrap(), 1);
    let started = find().await;
    assert!(started.stopped.is_none() && started.health.refused.is_empty());
    assert_eq!(outbox.store.start(verb("nobody")).await.unwrap_err().code(), RELAY_NOT_FOUND);
}

pub(crate) fn verb(relay: &str) -> RelayVerb {
    RelayVerb { relay: RelayName::parse(relay).unwrap(), who: Arc::from("ana"), why: Arc::from("a test") }
}

#[tokio::test]
async fn every_holder_wants_what_was_declared_last() {
    let outbox = OutboxFixture::new().await;
    outbox.declare(spec("cases", &["case.*"])).await.unwrap();
    assert_eq!(outbox.hold("host/1", LONG).await.events, patterns(&["case.*"]));
    let again = outbox.hold("host/1", LONG).await;
    assert!(again.cursors.iter().all(|cursor| cursor.fence == 1), "a declaration changes no place");
    let request = LaneRequest {
        relay: RelayName::parse("nobody").unwrap(),
        holder: Arc::from("host/1"),
        lease_for: LONG,
        give_back: Vec::new(),
    };
    assert_eq!(outbox.store.hold_lanes(request).await.unwrap_err().code(), RELAY_NOT_FOUND);
}

#[tokio::test]
async fn there_are_few_relays() {
    let outbox = OutboxFixture::new().await;
    let others: Vec<RelaySpec> =
        (1..RelaySpec::RELAYS_MAX).map(|number| spec(&format!("relay-{number}"), &["*"])).collect();
    outbox.store.declare(others, Arc::from("host/1")).await.unwrap();
    let error = outbox.declare(spec("one-more", &["*"])).await.unwrap_err();
    assert_eq!(error.code(), DECLARATION_INVALID);
    assert!(error.next_step().contains("onefold outbox retire"));
    outbox.store.retire(verb("relay-7")).await.unwrap();
    outbox.declare(spec("one-more", &["*"])).await.unwrap();
    let (now, relays) = outbox.store.relays().await.unwrap();
    assert_eq!(relays.len(), 65);
    let retired: Vec<_> = relays.iter().filter(|relay| relay.retired_at.is_some()).collect();
    assert!(retired.len() == 1 && retired[0].retired_at <= Some(now) && now > Timestamp::default());
}
