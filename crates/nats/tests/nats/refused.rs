//! Events that a stream does not take: they are refused, their aggregate stops, the others go on.

use onefold_conformance::publisher::events::{delivery, event, typed_event};
use onefold_conformance::publisher::pages::publish;
use onefold_core::error::{EVENT_TOO_LARGE, TARGET_UNAVAILABLE};
use onefold_core::port::{Publication, RefusedRetry};

use crate::place::{consumed, make_stream, payloads, publisher, shared};

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_too_large_is_refused_and_the_others_go_on() {
    // The stream says no to the first, the server to the second.
    for (limit, bytes) in [(2_000, 3_000), (-1, 1_100_000)] {
        let stream = make_stream(&shared(), |config| config.max_message_size = limit).await;
        let publisher = publisher(&shared(), &format!("{stream}.events"));
        let to = publisher.destination();
        let page = vec![
            event(to.as_ref(), 1, "CASE-1", "1"),
            event(to.as_ref(), 2, "CASE-1", "x".repeat(bytes)),
            event(to.as_ref(), 3, "CASE-1", "3"),
            event(to.as_ref(), 4, "CASE-2", "4"),
        ];
        let answers = publish(&*publisher, delivery(page)).await;
        let [
            Publication::Published { .. },
            Publication::Refused { code, retry: RefusedRetry::Never, .. },
            Publication::NotSent,
            Publication::Published { .. },
        ] = &answers[..]
        else {
            panic!("{answers:?}")
        };
        assert_eq!(*code, EVENT_TOO_LARGE);
        let mut written: Vec<String> = payloads(&shared(), &stream).await.into_values().collect();
        written.sort();
        assert_eq!(written, ["1", "4"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_stream_that_a_template_names_is_the_events_fault() {
    let stream =
        make_stream(&shared(), |config| config.subjects = vec![format!("{}.case.submitted", config.name)]).await;
    let publisher = publisher(&shared(), &format!("{stream}.{{event_type}}"));
    let to = publisher.destination();
    let page = vec![
        typed_event(to.as_ref(), 1, "CASE-1", "case.unknown", "1"),
        event(to.as_ref(), 2, "CASE-1", "2"),
        event(to.as_ref(), 3, "CASE-2", "3"),
    ];
    let answers = publish(&*publisher, delivery(page)).await;
    let [
        Publication::Refused { retry: RefusedRetry::After(None), .. },
        Publication::NotSent,
        Publication::Published { .. },
    ] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(consumed(&shared(), &stream).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_full_is_the_targets_fault() {
    let stream = make_stream(&shared(), |config| {
        config.max_messages = 1;
        config.discard = async_nats::jetstream::stream::DiscardPolicy::New;
    })
    .await;
    let publisher = publisher(&shared(), &format!("{stream}.events"));
    let to = publisher.destination();
    let page = vec![event(to.as_ref(), 1, "CASE-1", "1"), event(to.as_ref(), 2, "CASE-1", "2")];
    let answers = publish(&*publisher, delivery(page)).await;
    let [Publication::Published { .. }, Publication::Unavailable { code, .. }] = &answers[..] else {
        panic!("{answers:?}")
    };
    assert_eq!(*code, TARGET_UNAVAILABLE);
}
