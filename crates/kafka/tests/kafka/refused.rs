//! Events that a broker does not take: they are refused, their aggregate stops, the others go on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onefold_core::error::{EVENT_TARGET_REFUSED, EVENT_TOO_LARGE};
use onefold_core::event::StoredEvent;
use onefold_core::port::{Delivery, OutgoingEvent, Publication, RefusedRetry};
use onefold_core::time::Timestamp;

use crate::events::{delivery, event};
use crate::kcat;
use crate::relay::publish;
use crate::topics::{create, publisher, set, shared};

fn is_refused(answer: &Publication, expected: onefold_core::error::Code) -> bool {
    matches!(answer, Publication::Refused { code, retry: RefusedRetry::Never, .. } if *code == expected)
}

/// The payloads that are in the log, in any order.
fn written(topic: &str) -> Vec<String> {
    let mut values: Vec<String> = kcat::committed(&shared(), topic).into_iter().map(|record| record.value).collect();
    values.sort();
    values
}

/// One event that is refused for its size, between two of its aggregate, beside another aggregate.
fn page_with_a_large_one(topic: &str, bytes: usize) -> Vec<OutgoingEvent> {
    vec![
        event(topic, 1, "CASE-1", "1"),
        event(topic, 2, "CASE-1", "x".repeat(bytes)),
        event(topic, 3, "CASE-1", "3"),
        event(topic, 4, "CASE-2", "4"),
    ]
}

fn assert_only_the_large_one_is_refused(answers: &[Publication]) {
    let [Publication::Published { .. }, refused, Publication::NotSent, Publication::Published { .. }] = answers else {
        panic!("{answers:?}")
    };
    assert!(is_refused(refused, EVENT_TOO_LARGE), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_the_topic_cannot_hold_is_refused_before_it_is_sent() {
    let topic = create(&shared(), 1, &[("max.message.bytes", "5000")]).await;
    let answers = publish(&publisher(&shared(), &topic), delivery(page_with_a_large_one(&topic, 6_000))).await;
    assert_only_the_large_one_is_refused(&answers);
    assert_eq!(written(&topic), ["1", "4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_only_the_broker_finds_too_large_is_refused_too() {
    for policy in ["delete", "compact"] {
        let topic = create(&shared(), 1, &[("max.message.bytes", "5000"), ("cleanup.policy", policy)]).await;
        // With its headers it has more than the topic takes, without them less.
        let answers = publish(&publisher(&shared(), &topic), delivery(page_with_a_large_one(&topic, 4_950))).await;
        assert_only_the_large_one_is_refused(&answers);
        assert_eq!(written(&topic), ["1", "4"], "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_batch_costs_only_the_event_that_is_refused() {
    for policy in ["delete", "compact"] {
        let limit = ("message.timestamp.before.max.ms", "3600000");
        let topic = create(&shared(), 1, &[limit, ("cleanup.policy", policy)]).await;
        let old = event(&topic, 2, "CASE-1", "2");
        let stored = StoredEvent { created_at: Timestamp::from_micros(0), ..StoredEvent::clone(&old.stored) };
        let page = vec![
            event(&topic, 1, "CASE-1", "1"),
            OutgoingEvent { stored: Arc::new(stored), ..old },
            event(&topic, 3, "CASE-1", "3"),
            event(&topic, 4, "CASE-2", "4"),
            event(&topic, 5, "CASE-2", "5"),
        ];
        let publisher = publisher(&shared(), &topic);
        let answers = publish(&publisher, delivery(page)).await;
        assert!(is_refused(&answers[1], EVENT_TARGET_REFUSED), "{policy}: {answers:?}");
        assert_eq!(answers[2], Publication::NotSent);
        for at in [0, 3, 4] {
            assert!(matches!(answers[at], Publication::Published { .. }), "{policy}: {answers:?}");
        }
        assert_eq!(written(&topic), ["1", "4", "5"], "{policy}");
        publisher.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_event_of_a_full_page_costs_only_itself() {
    for policy in ["delete", "compact"] {
        let limit = ("message.timestamp.before.max.ms", "3600000");
        let topic = create(&shared(), 1, &[limit, ("cleanup.policy", policy)]).await;
        // A client may make several batches of it, which follow each other on their way.
        let mut page: Vec<OutgoingEvent> =
            (0..300).map(|seq| event(&topic, seq, &format!("CASE-{seq}"), "x".repeat(3_000))).collect();
        let stored = StoredEvent { created_at: Timestamp::from_micros(0), ..StoredEvent::clone(&page[5].stored) };
        page[5].stored = Arc::new(stored);
        let whole = Delivery { within: Duration::from_mins(2), ..delivery(page) };
        let answers = publish(&publisher(&shared(), &topic), whole).await;
        assert!(is_refused(&answers[5], EVENT_TARGET_REFUSED), "{policy}: {answers:?}");
        let published = answers.iter().filter(|answer| matches!(answer, Publication::Published { .. })).count();
        assert_eq!(published, 299, "{policy}: {answers:?}");
        let mut ids: Vec<String> =
            kcat::committed(&shared(), &topic).iter().map(|record| record.id().to_owned()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 299, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_was_lowered_meanwhile_refuses_only_what_is_too_large() {
    let topic = create(&shared(), 1, &[]).await;
    let publisher = publisher(&shared(), &topic);
    publish(&publisher, delivery(vec![event(&topic, 1, "CASE-0", "0")])).await;
    set(&shared(), &topic, "max.message.bytes", "5000").await;
    let page = || {
        vec![
            event(&topic, 2, "CASE-1", "x".repeat(6_000)),
            event(&topic, 3, "CASE-2", "3"),
            event(&topic, 4, "CASE-3", "4"),
        ]
    };
    // The broker itself takes a moment to see the new limit; until then it takes the event.
    let begun = Instant::now();
    loop {
        let answers = publish(&publisher, delivery(page())).await;
        let [first, Publication::Published { .. }, Publication::Published { .. }] = &answers[..] else {
            panic!("{answers:?}")
        };
        if is_refused(first, EVENT_TOO_LARGE) {
            break;
        }
        assert!(matches!(first, Publication::Published { .. }), "{first:?}");
        assert!(begun.elapsed() < Duration::from_mins(1), "the limit is never seen");
    }
}
