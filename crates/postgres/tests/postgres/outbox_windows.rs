//! Windows between snapshots: what a poll finds, whatever transactions do meanwhile.

use std::sync::Arc;

use onefold_core::outbox::{Begin, CursorStep, Horizon, LaneCursor, RelaySpec, WindowEnd};
use onefold_core::port::{Poll, PollSize, RelayStore as _, StageOrder, Staging as _};
use sqlx::{Connection as _, PgConnection};

use crate::fixture::run;
use crate::outbox_fixture::{LONG, OutboxFixture, event, events, patterns, payload, settlement, spec};
use crate::server::Server;

async fn poll(outbox: &OutboxFixture, cursors: &[LaneCursor], size: PollSize) -> Poll {
    outbox.store.poll(outbox.spec.events.clone(), cursors.to_vec(), size).await.unwrap()
}

fn payloads(poll: &Poll) -> Vec<String> {
    poll.lanes.iter().flat_map(|lane| &lane.events).map(|(_, event)| payload(event)).collect()
}

async fn stage_on(outbox: &OutboxFixture, connection: &mut PgConnection, aggregate: &str, text: &str) {
    let staged = [event("case.submitted", aggregate, text)];
    outbox.store.stage(connection, &staged, StageOrder::AggregateIsLocked).await.unwrap();
}

#[tokio::test]
async fn an_earlier_transaction_that_commits_later_is_in_the_next_window() {
    let outbox = OutboxFixture::new().await;
    let (mut early, mut late) = (outbox.connect().await, outbox.connect().await);
    let mut early = early.begin().await.unwrap();
    stage_on(&outbox, &mut early, "CASE-7", "early").await;
    let mut late = late.begin().await.unwrap();
    stage_on(&outbox, &mut late, "CASE-8", "late").await;
    late.commit().await.unwrap();
    assert_eq!(outbox.publish("host/1").await, ["late"], "an open transaction delays its own events alone");
    assert!(outbox.publish("host/1").await.is_empty());
    early.commit().await.unwrap();
    assert_eq!(outbox.publish("host/1").await, ["early"]);
    assert!(outbox.publish("host/1").await.is_empty());
}

#[tokio::test]
async fn savepoints_and_rollbacks_leave_only_what_was_committed() {
    let outbox = OutboxFixture::new().await;
    let mut connection = outbox.connect().await;
    let mut transaction = connection.begin().await.unwrap();
    run(&mut transaction, "SAVEPOINT a").await;
    stage_on(&outbox, &mut transaction, "CASE-7", "kept").await;
    run(&mut transaction, "RELEASE SAVEPOINT a; SAVEPOINT b").await;
    stage_on(&outbox, &mut transaction, "CASE-7", "taken back").await;
    run(&mut transaction, "ROLLBACK TO SAVEPOINT b").await;
    stage_on(&outbox, &mut transaction, "CASE-7", "kept too").await;
    assert!(outbox.publish("host/1").await.is_empty());
    transaction.commit().await.unwrap();
    let mut gone = connection.begin().await.unwrap();
    stage_on(&outbox, &mut gone, "CASE-7", "gone").await;
    gone.rollback().await.unwrap();
    assert_eq!(outbox.publish("host/1").await, ["kept", "kept too"]);
}

#[tokio::test]
async fn a_prepared_transaction_is_open_until_it_is_committed() {
    let server = Server::start(&["max_prepared_transactions=5"]).await;
    let schema = crate::fixture::Schema::at(server.url());
    let store = schema.open().await.unwrap();
    let outbox = OutboxFixture { schema, store, spec: spec("cases", &["*"]) };
    outbox.declare(outbox.spec.clone()).await.unwrap();
    let mut connection = outbox.connect().await;
    run(&mut connection, "BEGIN").await;
    stage_on(&outbox, &mut connection, "CASE-7", "prepared").await;
    run(&mut connection, "PREPARE TRANSACTION 'outbox'").await;
    outbox.stage(&[event("case.submitted", "CASE-8", "after")]).await;
    assert_eq!(outbox.publish("host/1").await, ["after"]);
    run(&mut connection, "COMMIT PREPARED 'outbox'").await;
    assert_eq!(outbox.publish("host/1").await, ["prepared"]);
}

#[tokio::test]
async fn a_stored_window_has_what_it_had_when_it_was_opened() {
    let outbox = OutboxFixture::new().await;
    let mut open = outbox.connect().await;
    let mut open = open.begin().await.unwrap();
    stage_on(&outbox, &mut open, "CASE-7", "lower number, later commit").await;
    outbox.stage(&events("CASE-7", 3)).await;
    let cursors = outbox.hold("host/1", LONG).await.cursors;
    let (window, first) = outbox.open_windows(&cursors).await.remove(0);
    assert_eq!(first.len(), 3);
    let page = settlement(&window, Some(first[0].seq), WindowEnd::Open);
    outbox.store.settle(outbox.relay(), vec![page], Vec::new()).await.unwrap();
    open.commit().await.unwrap();
    outbox.stage(&events("CASE-7", 1)).await;
    let cursors = outbox.hold("host/1", LONG).await.cursors;
    let here: Vec<_> = cursors.into_iter().filter(|cursor| cursor.lane == window.lane).collect();
    assert_eq!((here[0].pos, &here[0].until), (first[0].seq, &window.until));
    let left = poll(&outbox, &here, PollSize::Events(100)).await;
    assert_eq!(payloads(&left), ["{\"number\": 1}", "{\"number\": 2}"]);
    let steps = vec![(here[0].clone(), CursorStep::CloseWindow)];
    outbox.store.move_cursors(outbox.relay(), steps).await.unwrap();
    let published = outbox.publish("host/1").await;
    assert_eq!(published, ["lower number, later commit", "{\"number\": 0}"]);
}

#[tokio::test]
async fn what_is_not_wanted_is_counted_and_brings_no_payload() {
    let outbox = OutboxFixture::new().await;
    outbox.declare(spec("orders", &["order.*", "case.closed"])).await.unwrap();
    let staged: Vec<_> =
        ["order.paid", "order.", "case.closed", "case.opened"].map(|name| event(name, "CASE-7", name)).to_vec();
    outbox.stage(&staged).await;
    let cursors = outbox.hold("host/1", LONG).await.cursors;
    let wanted = patterns(&["order.*", "case.closed"]);
    for size in [PollSize::Events(10), PollSize::Places(10)] {
        let poll = outbox.store.poll(wanted.clone(), cursors.clone(), size).await.unwrap();
        let lane = poll.lanes.iter().find(|lane| lane.unwanted > 0).unwrap();
        assert_eq!((lane.unwanted, lane.events.len() + lane.places.len(), poll.truncated), (2, 2, false));
    }
    let poll = outbox.store.poll(wanted, cursors, PollSize::Events(10)).await.unwrap();
    assert_eq!(payloads(&poll), ["order.paid", "case.closed"]);
}

#[tokio::test]
async fn of_a_large_window_the_places_are_read_first_and_the_events_by_page() {
    let outbox = OutboxFixture::new().await;
    let staged = outbox.stage(&events("CASE-7", 5)).await;
    let cursors = outbox.hold("host/1", LONG).await.cursors;
    assert!(poll(&outbox, &cursors, PollSize::Events(4)).await.truncated);
    assert!(!poll(&outbox, &cursors, PollSize::Events(5)).await.truncated);
    let part = poll(&outbox, &cursors, PollSize::Places(3)).await;
    let places: Vec<_> = part.lanes.iter().flat_map(|lane| lane.places.clone()).collect();
    assert!(part.truncated);
    let lowest: Vec<_> = staged[..3].iter().map(|staged| staged.seq).collect();
    assert_eq!(places.iter().map(|place| place.seq).collect::<Vec<_>>(), lowest);
    let turned: Vec<_> = [places[2], places[0]].to_vec();
    let read = outbox.store.events_at(turned).await.unwrap();
    assert_eq!(read.iter().map(|event| payload(event)).collect::<Vec<_>>(), ["{\"number\": 2}", "{\"number\": 0}"]);
}

#[tokio::test]
async fn of_too_many_places_each_lane_still_shows_its_first() {
    let outbox = OutboxFixture::new().await;
    outbox.stage(&events("CASE-7", 5)).await;
    outbox.stage(&events("CASE-8", 2)).await;
    let cursors = outbox.hold("host/1", LONG).await.cursors;
    let part = poll(&outbox, &cursors, PollSize::Places(2)).await;
    let shown: Vec<usize> = part.lanes.iter().map(|lane| lane.places.len()).filter(|shown| *shown > 0).collect();
    assert!(part.truncated && shown.len() == 2 && shown.iter().sum::<usize>() == 3, "{shown:?}");
}

#[tokio::test]
async fn a_relay_begins_now_at_the_oldest_or_at_a_time() {
    let outbox = OutboxFixture::new().await;
    let mut open = outbox.connect().await;
    let mut open = open.begin().await.unwrap();
    stage_on(&outbox, &mut open, "CASE-1", "open").await;
    outbox.stage(&[event("case.submitted", "CASE-2", "before")]).await;
    let (now, _) = onefold_core::port::OutboxOperate::relays(&outbox.store).await.unwrap();
    outbox.stage(&[event("case.submitted", "CASE-3", "between")]).await;
    let begins = [("now", Begin::Now), ("oldest", Begin::Oldest), ("at", Begin::At(now))];
    for (name, begin) in begins {
        outbox.declare(RelaySpec { begin, ..spec(name, &["*"]) }).await.unwrap();
    }
    outbox.stage(&[event("case.submitted", "CASE-4", "after")]).await;
    open.commit().await.unwrap();
    let expected: [(&str, &[&str]); 3] = [
        ("now", &["after", "open"]),
        ("oldest", &["after", "before", "between", "open"]),
        ("at", &["after", "between", "open"]),
    ];
    for (name, expected) in expected {
        let relay = OutboxFixtureRef { outbox: &outbox, name };
        assert_eq!(relay.published().await, expected, "{name}");
    }
}

/// Another relay of the same store.
struct OutboxFixtureRef<'a> {
    outbox: &'a OutboxFixture,
    name: &'static str,
}

impl OutboxFixtureRef<'_> {
    async fn published(&self) -> Vec<String> {
        let request = onefold_core::port::LaneRequest {
            relay: spec(self.name, &["*"]).name,
            holder: Arc::from("host/1"),
            lease_for: LONG,
            give_back: Vec::new(),
        };
        let cursors = self.outbox.store.hold_lanes(request).await.unwrap().cursors;
        let mut found = payloads(&poll(self.outbox, &cursors, PollSize::Events(100)).await);
        found.sort();
        found
    }
}

#[tokio::test]
async fn a_poll_that_finds_nothing_says_what_it_saw() {
    let outbox = OutboxFixture::new().await;
    let cursors = outbox.hold("host/1", LONG).await.cursors;
    let first = poll(&outbox, &cursors, PollSize::Events(10)).await;
    assert!(first.lanes.len() == 64 && first.lanes.iter().all(|lane| lane.events.is_empty() && lane.unwanted == 0));
    outbox.stage(&events("CASE-7", 1)).await;
    let second = poll(&outbox, &cursors, PollSize::Places(10)).await;
    let (Horizon::Snapshot(first), Horizon::Snapshot(second)) = (first.seen, second.seen) else { panic!() };
    assert!(first.xmax() < second.xmax());
}
