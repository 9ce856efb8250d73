//! Events that a queue does not take: they are refused, their aggregate stops, the others go on.

use lapin::types::AMQPValue;
use onefold_conformance::publisher::events::{delivery, event, typed_event, unique};
use onefold_conformance::publisher::pages::publish;
use onefold_core::error::{EVENT_TARGET_REFUSED, TARGET_NOT_READY};
use onefold_core::port::{Publication, RefusedRetry};

use crate::place::{Queue, paged, sender, shared};

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_no_queue_takes_is_refused_and_the_others_go_on() {
    let queue = Queue::make(&shared(), "case.submitted", &[]).await;
    let publisher = paged(sender(&shared(), &queue.name, "{event_type}"));
    let to = publisher.destination();
    let first = publish(&*publisher, delivery(vec![event(to.as_ref(), 0, "CASE-0", "0")])).await;
    assert!(matches!(first[..], [Publication::Published { .. }]), "{first:?}");
    for round in 1..=5 {
        // Many at once, so that answers about routed and about returned messages come mixed.
        let mut page = Vec::new();
        for case in 0..30 {
            let (aggregate, seq) = (format!("CASE-{round}-{case}"), round * 100 + case * 2);
            let first = if case % 3 == 0 { "case.unknown" } else { "case.submitted" };
            page.push(typed_event(to.as_ref(), seq, &aggregate, first, format!("{seq}")));
            page.push(event(to.as_ref(), seq + 1, &aggregate, format!("{}", seq + 1)));
        }
        let answers = publish(&*publisher, delivery(page)).await;
        for (case, pair) in answers.chunks(2).enumerate() {
            if case % 3 == 0 {
                let [Publication::Refused { code, reason, retry: RefusedRetry::After(None) }, Publication::NotSent] =
                    pair
                else {
                    panic!("{case}: {pair:?}")
                };
                assert!(*code == EVENT_TARGET_REFUSED && reason.contains("NO_ROUTE"), "{reason}");
            } else {
                assert!(pair.iter().all(|answer| matches!(answer, Publication::Published { .. })), "{case}: {pair:?}");
            }
        }
    }
    assert_eq!(queue.consumed().await.len(), 1 + 5 * 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fixed_place_that_no_queue_is_bound_to_is_the_targets_fault() {
    let queue = Queue::make(&shared(), "case.submitted", &[]).await;
    let publisher = paged(sender(&shared(), &queue.name, "nowhere"));
    let to = publisher.destination();
    let answers = publish(&*publisher, delivery(vec![event(to.as_ref(), 1, "CASE-1", "1")])).await;
    assert!(matches!(answers[..], [Publication::Unavailable { code, .. }] if code == TARGET_NOT_READY), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_exchange_that_a_template_names_is_the_events_fault() {
    let queue = Queue::make(&shared(), "#", &[]).await;
    let (prefix, known) = (unique("type"), queue.name.clone());
    let publisher = paged(sender(&shared(), "{event_type}", "cases"));
    let to = publisher.destination();
    let page = vec![
        typed_event(to.as_ref(), 1, "CASE-1", &prefix, "1"),
        typed_event(to.as_ref(), 2, "CASE-1", &known, "2"),
        typed_event(to.as_ref(), 3, "CASE-2", &known, "3"),
        typed_event(to.as_ref(), 4, "CASE-3", &known, "4"),
    ];
    let answers = publish(&*publisher, delivery(page)).await;
    let [
        Publication::Refused { retry: RefusedRetry::After(None), .. },
        Publication::NotSent,
        Publication::Published { .. },
        Publication::Published { .. },
    ] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(queue.payloads().await, ["3", "4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_full_refuses_the_event_for_now() {
    let limits =
        [("x-max-length", AMQPValue::LongInt(2)), ("x-overflow", AMQPValue::LongString("reject-publish".into()))];
    let full = Queue::make(&shared(), "case.submitted", &limits).await;
    let publisher = paged(sender(&shared(), &full.name, "{event_type}"));
    let to = publisher.destination();
    let page: Vec<_> = (0..5).map(|seq| event(to.as_ref(), seq, "CASE-1", seq.to_string())).collect();
    let answers = publish(&*publisher, delivery(page.clone())).await;
    let refused = answers.iter().find(|answer| !matches!(answer, Publication::Published { .. }));
    let Some(Publication::Refused { code, retry: RefusedRetry::After(None), .. }) = refused else {
        panic!("{answers:?}")
    };
    assert_eq!(*code, EVENT_TARGET_REFUSED);
    let taken = answers.iter().take_while(|answer| matches!(answer, Publication::Published { .. })).count();
    assert!(answers[taken + 1..].iter().all(|answer| *answer == Publication::NotSent), "{answers:?}");
    // There is room again.
    assert_eq!(full.consumed().await.len(), taken);
    let again = publish(&*publisher, delivery(vec![page[taken].clone()])).await;
    assert!(matches!(again[..], [Publication::Published { .. }]), "{again:?}");
}
