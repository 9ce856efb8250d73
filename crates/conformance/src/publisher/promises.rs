//! What every publisher promises.

use std::time::{Duration, Instant};

use onefold_core::port::{Delivery, Publication};

use super::events::{delivery, event, events, replayed};
use super::pages::{all_published, assert_in_order, publish, publish_during};
use super::proxy::ProxyMode;
use super::{ConsumedEvent, PublisherHarness};

/// What a page may take that is not acknowledged, and what a test grants it beside that on a busy machine.
const SHORT: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_secs(20);

/// A page of many aggregates is published as a whole.
pub async fn every_event_is_there_once_and_in_the_order_of_its_aggregate<H: PublisherHarness>() {
    let place = H::open().await;
    let publisher = place.publisher();
    let events = events(publisher.destination().as_ref(), 600, 7);
    for page in events.chunks(300) {
        let answers = publish(&*publisher, delivery(page.to_vec())).await;
        assert!(all_published(&answers), "{answers:?}");
    }
    let consumed = place.consumed().await;
    assert_eq!(consumed.len(), events.len(), "each once");
    assert_in_order(&events, &consumed);
}

/// Each lane has its own answers, one for each event.
pub async fn lanes_are_published_together_and_answered_apart<H: PublisherHarness>() {
    let place = H::open().await;
    let publisher = place.publisher();
    let to = publisher.destination();
    let lane = |lane: u16| {
        let seq = i64::from(lane) * 10;
        let events = (seq..seq + i64::from(lane)).map(|seq| event(to.as_ref(), seq, &format!("CASE-{lane}"), "{}"));
        Delivery { lane, ..delivery(events.collect()) }
    };
    let answers = publisher.publish((1..5).map(lane).collect()).await;
    assert_eq!(answers.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(answers.iter().all(|answers| all_published(answers)), "{answers:?}");
    assert_eq!(place.consumed().await.len(), 10);
}

/// A consumer knows an event by what is beside its payload.
pub async fn an_event_carries_its_attributes_and_headers<H: PublisherHarness>() {
    let place = H::open().await;
    let publisher = place.publisher();
    let sent = event(publisher.destination().as_ref(), 42, "CASE-7", "{\"a\": 1}");
    assert!(all_published(&publish(&*publisher, delivery(vec![sent.clone()])).await));
    assert!(all_published(&publish(&*publisher, delivery(vec![replayed(&sent, "rpl_1")])).await));
    let consumed = place.consumed().await;
    let [first, again] = &consumed[..] else { panic!("{consumed:?}") };
    let id = sent.stored.event.id.to_string();
    for (attribute, expected) in [
        ("specversion", "1.0"),
        ("id", &*id),
        ("type", "case.submitted"),
        ("source", "/default/case"),
        ("subject", "CASE-7"),
        ("sequence", "00000000000000000042"),
        ("tenant", "default"),
        ("correlationid", "corr-1"),
    ] {
        assert_eq!(first.attributes.get(attribute).map(String::as_str), Some(expected), "{attribute}");
    }
    assert_eq!(first.headers.get("x-region").map(String::as_str), Some("süd"));
    assert_eq!((&*first.content_type, &*first.payload), ("application/json", &b"{\"a\": 1}"[..]));
    let replay = |event: &ConsumedEvent| event.headers.get("onefold-replay").cloned();
    assert_eq!((replay(first), replay(again)), (None, Some("rpl_1".to_owned())));
    assert_eq!(again.id(), id, "a replay keeps the id");
}

/// Connections are cut again and again while pages are on their way.
pub async fn broken_connections_lose_nothing_and_keep_the_order<H: PublisherHarness>() {
    let place = H::open().await;
    let publisher = place.publisher();
    let events = events(publisher.destination().as_ref(), 60_000, 7);
    let faults = async {
        for _ in 0..15 {
            tokio::time::sleep(Duration::from_millis(120)).await;
            place.proxy().cut();
        }
    };
    let done = publish_during(&*publisher, &events, Duration::from_secs(6), faults).await;
    assert!(place.proxy().connections() > 5, "nothing was cut");
    assert_in_order(done, &place.consumed().await);
}

/// The broker has it and cannot say so: the page ends, and is sent again.
pub async fn a_page_that_nobody_acknowledges_ends_in_time_and_is_repeated_under_its_ids<H: PublisherHarness>() {
    let place = H::open().await;
    let publisher = place.publisher();
    let events = events(publisher.destination().as_ref(), 12, 4);
    assert!(all_published(&publish(&*publisher, delivery(events[..4].to_vec())).await));
    place.proxy().set(ProxyMode::KeepReplies);
    let page = Delivery { within: SHORT, ..delivery(events[4..].to_vec()) };
    let begun = Instant::now();
    let unanswered = publish(&*publisher, page.clone()).await;
    assert!(begun.elapsed() < SHORT + GRACE, "it took {:?}", begun.elapsed());
    let is_open = |answer: &Publication| matches!(answer, Publication::Unavailable { .. } | Publication::NotSent);
    assert!(unanswered.iter().all(is_open), "{unanswered:?}");
    place.proxy().set(ProxyMode::Pass);
    let answers = publish(&*publisher, delivery(page.events)).await;
    assert!(all_published(&answers), "a new connection has taken the place of the silent one: {answers:?}");
    assert_in_order(&events, &place.consumed().await);
}

/// It accepts connections, and says nothing.
pub async fn a_broker_that_never_answers_holds_nobody_up<H: PublisherHarness>() {
    let place = H::open().await;
    place.proxy().set(ProxyMode::KeepAll);
    let publisher = place.publisher();
    let events = events(publisher.destination().as_ref(), 100, 50);
    let begun = Instant::now();
    publisher.check(Duration::from_secs(30), SHORT).await.unwrap_err();
    let answers = publish(&*publisher, Delivery { within: SHORT, ..delivery(events.clone()) }).await;
    assert!(begun.elapsed() < 2 * SHORT + GRACE, "it took {:?}", begun.elapsed());
    assert!(!answers.iter().any(|answer| matches!(answer, Publication::Published { .. })), "{answers:?}");
    place.proxy().set(ProxyMode::Pass);
    assert!(all_published(&publish(&*publisher, delivery(events)).await));
}

/// No event is refused for it, and nothing has to be started anew.
pub async fn a_broker_that_is_away_is_unavailable_and_comes_back_by_itself<H: PublisherHarness>() {
    let place = H::open().await;
    let publisher = place.publisher();
    let events = events(publisher.destination().as_ref(), 40, 10);
    assert!(all_published(&publish(&*publisher, delivery(events[..10].to_vec())).await));
    place.proxy().set(ProxyMode::Away);
    let answers = publish(&*publisher, delivery(events[10..].to_vec())).await;
    let is_open = |answer: &Publication| matches!(answer, Publication::Unavailable { .. } | Publication::NotSent);
    assert!(answers.iter().all(is_open), "{answers:?}");
    assert!(answers.iter().any(|answer| matches!(answer, Publication::Unavailable { .. })), "{answers:?}");
    place.proxy().set(ProxyMode::Pass);
    let begun = Instant::now();
    while !all_published(&publish(&*publisher, delivery(events[10..].to_vec())).await) {
        assert!(begun.elapsed() < GRACE, "it does not come back");
    }
    assert_in_order(&events, &place.consumed().await);
}
