//! Cursors: where a relay begins, what a window holds, what a fence keeps out.

use std::time::Duration;

use onefold_core::event::EventId;
use onefold_core::outbox::{Begin, PageSettlement, WindowEnd};
use onefold_core::port::{OutboxOperate as _, PollSize, RelayStore as _};

use super::fixture::{LONG, OutboxHarness, RelayFixture, relay, taken};

fn ids(events: &[onefold_core::event::NewEvent]) -> Vec<EventId> {
    events.iter().map(|event| event.id).collect()
}

/// A relay publishes what is staged after it was declared, once, in order; the next life goes on from there.
pub async fn a_relay_publishes_each_event_once_and_in_order<H: OutboxHarness>() {
    let mut relay = RelayFixture::<H>::new().await;
    let first = relay.staged(&["A", "A", "A"]).await;
    assert_eq!(relay.publish("host/1", taken).await, ids(&first));
    assert!(relay.publish("host/1", taken).await.is_empty());
    relay.fixture.reopen().await;
    let second = relay.staged(&["A", "A"]).await;
    assert_eq!(relay.publish("host/1", taken).await, ids(&second));
}

/// A new relay begins now, with the oldest event that is kept, or at a time.
pub async fn a_new_relay_begins_where_it_says<H: OutboxHarness>() {
    let mut fixture = RelayFixture::<H>::new().await;
    let before = fixture.staged(&["A", "A"]).await;
    for (name, begin) in [("late", Begin::Now), ("early", Begin::Oldest)] {
        fixture.spec = relay(name, &["*"]);
        fixture.spec.begin = begin;
        fixture.declare(&fixture.spec).await;
    }
    assert_eq!(fixture.publish("host/1", taken).await, ids(&before), "the oldest is kept");
    let after = fixture.staged(&["A"]).await;
    fixture.spec = relay("late", &["*"]);
    // Where it begins is read once: declared again, it goes on from its place.
    fixture.spec.begin = Begin::Oldest;
    fixture.declare(&fixture.spec).await;
    assert_eq!(fixture.publish("host/1", taken).await, ids(&after), "now");
}

/// What a relay does not want is passed, and read once.
pub async fn unwanted_events_are_passed_and_not_read_again<H: OutboxHarness>() {
    let mut fixture = RelayFixture::<H>::new().await;
    fixture.spec = relay("decisions", &["case.decided", "order.*"]);
    fixture.declare(&fixture.spec).await;
    fixture.staged(&["A", "B"]).await;
    let wanted = fixture.event("order.placed", "C");
    let holding = fixture.hold("host/1", LONG).await;
    let polled = fixture.poll(&holding.held.cursors, PollSize::Events(100)).await;
    assert_eq!(polled.lanes.iter().map(|lane| lane.unwanted).sum::<usize>(), 2);
    assert!(polled.lanes.iter().all(|lane| lane.events.is_empty()));
    fixture.open_windows(&holding).await;
    let holding = fixture.hold("host/1", LONG).await;
    let polled = fixture.poll(&holding.held.cursors, PollSize::Events(100)).await;
    assert_eq!(polled.lanes.iter().map(|lane| lane.unwanted).sum::<usize>(), 0, "they are behind the cursor");
    H::stage(fixture.store(), vec![wanted.clone()]).await.expect("staged");
    assert_eq!(fixture.publish("host/1", taken).await, [wanted.id]);
}

/// One process at a time holds a lane. The next one reads the same window from the last settled event on, and what the
/// first one still writes changes nothing.
pub async fn a_window_is_the_same_for_its_next_holder_and_closed_to_its_last<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let events = fixture.staged(&["A", "A", "A"]).await;
    let first = fixture.hold("host/1", Duration::ZERO).await;
    let windows = fixture.open_windows(&first).await;
    let (cursor, page) = windows.iter().find(|(_, events)| !events.is_empty()).expect("a window").clone();
    let whole = fixture.judged(&first, &(cursor.clone(), page.clone()), &taken);
    let part = PageSettlement { pos: Some(page[0].seq), window: WindowEnd::Open, ..whole.clone() };
    let moved = fixture.store().settle(fixture.spec.name.clone(), vec![part], Vec::new()).await.expect("settled");
    assert_eq!(moved, [cursor.lane]);
    // Staged after the window was stored: not in it.
    let later = fixture.staged(&["A"]).await;
    let second = fixture.hold("host/2", LONG).await;
    let taken_over = second.held.cursors.iter().find(|held| held.lane == cursor.lane).expect("the lease is over");
    assert!(taken_over.fence > cursor.fence);
    let polled = fixture.poll(std::slice::from_ref(taken_over), PollSize::Events(100)).await;
    let left: Vec<EventId> = polled.lanes[0].events.iter().map(|(_, stored)| stored.event.id).collect();
    assert_eq!(left, ids(&events)[1..], "what is left of the stored window");
    let refused = fixture.store().settle(fixture.spec.name.clone(), vec![whole], Vec::new()).await.expect("answered");
    assert!(refused.is_empty(), "another process holds the lane");
    let again = fixture.poll(std::slice::from_ref(taken_over), PollSize::Events(100)).await;
    assert_eq!(again.lanes[0].events.len(), 2, "nothing was settled");
    let mut published = fixture.publish("host/2", taken).await;
    published.extend(fixture.publish("host/2", taken).await);
    assert_eq!(published, [&ids(&events)[1..], &ids(&later)].concat());
    assert!(fixture.hold("host/1", LONG).await.held.cursors.is_empty(), "every lane is held");
}

/// Of a large window only the places are read, and the events a page at a time.
pub async fn a_large_window_is_read_by_places<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let events = fixture.staged(&["A", "A", "A", "A", "A"]).await;
    let holding = fixture.hold("host/1", LONG).await;
    assert!(fixture.poll(&holding.held.cursors, PollSize::Events(4)).await.truncated);
    let whole = fixture.poll(&holding.held.cursors, PollSize::Places(100)).await;
    assert!(!whole.truncated);
    let lane = whole.lanes.iter().find(|lane| !lane.places.is_empty()).expect("five places");
    let found = fixture.store().events_at(lane.places[1..3].to_vec()).await.expect("read");
    let found: Vec<EventId> = found.iter().map(|stored| stored.event.id).collect();
    assert_eq!(found, ids(&events)[1..3]);
    let part = fixture.poll(&holding.held.cursors, PollSize::Places(3)).await;
    assert!(part.truncated);
    let lane = part.lanes.iter().find(|lane| !lane.places.is_empty()).expect("places");
    assert_eq!(lane.places, whole.lanes.iter().find(|lane| !lane.places.is_empty()).expect("five").places[..3]);
}

/// Relays do not wait for each other.
pub async fn each_relay_has_a_place_of_its_own<H: OutboxHarness>() {
    let mut fixture = RelayFixture::<H>::new().await;
    let slow = relay("partners", &["*"]);
    fixture.declare(&slow).await;
    let events = fixture.staged(&["A", "A"]).await;
    assert_eq!(fixture.publish("host/1", taken).await, ids(&events));
    let waiting = |relays: Vec<onefold_core::port::RelayState>| -> Vec<(String, u64)> {
        relays.into_iter().map(|relay| (relay.name.to_string(), relay.waiting)).collect()
    };
    let (_, relays) = fixture.store().relays().await.expect("read");
    assert_eq!(waiting(relays), [("cases".to_owned(), 0), ("partners".to_owned(), 2)]);
    fixture.spec = slow;
    assert_eq!(fixture.publish("host/1", taken).await, ids(&events));
}
