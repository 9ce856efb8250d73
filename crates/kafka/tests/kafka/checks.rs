//! What a check finds before the first event.

use std::time::Duration;

use onefold_core::error::{TARGET_NOT_READY, TARGET_UNAVAILABLE};
use onefold_core::port::{Publication, Publisher as _, RefusedRetry};

use crate::broker::free_port;
use crate::events::{WITHIN, delivery, event, unique};
use crate::kcat;
use crate::relay::publish;
use crate::topics::{create, publisher, shared};

const LEASE_FOR: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_exists_passes_and_says_whether_it_is_fenced() {
    let plain = create(&shared(), 1, &[]).await;
    let compacted = create(&shared(), 1, &[("cleanup.policy", "delete,compact")]).await;
    for (topic, is_fenced) in [(plain, false), (compacted, true)] {
        let publisher = publisher(&shared(), &topic);
        assert_eq!(publisher.target(), format!("kafka {topic}"));
        publisher.check(LEASE_FOR, WITHIN).await.unwrap();
        assert_eq!(publisher.unfenced().is_none(), is_fenced);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_is_named_with_what_to_do() {
    let missing = unique("missing");
    let publisher = publisher(&shared(), &missing);
    let error = publisher.check(LEASE_FOR, WITHIN).await.unwrap_err();
    assert_eq!(error.code(), TARGET_NOT_READY);
    assert!(error.detail().contains(&missing) && error.next_step().contains("create the topic"), "{error}");
    let answers = publish(&publisher, delivery(vec![event(&missing, 1, "CASE-1", "{}")])).await;
    assert!(matches!(answers[..], [Publication::Unavailable { code, .. }] if code == TARGET_NOT_READY), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_that_a_template_names_is_the_events_fault() {
    let topic = create(&shared(), 1, &[]).await;
    let missing = unique("missing");
    let publisher = publisher(&shared(), "{event_type}");
    publisher.check(LEASE_FOR, WITHIN).await.unwrap();
    let page =
        vec![event(&missing, 1, "CASE-1", "{}"), event(&topic, 2, "CASE-1", "{}"), event(&topic, 3, "CASE-2", "{}")];
    let answers = publish(&publisher, delivery(page)).await;
    let [
        Publication::Refused { retry: RefusedRetry::After(None), .. },
        Publication::NotSent,
        Publication::Published { .. },
    ] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(kcat::committed(&shared(), &topic).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn times_that_let_a_record_outlive_its_lease_are_refused() {
    let publisher = publisher(&shared(), "cases");
    let error = publisher.check(Duration::from_secs(30), Duration::from_secs(25)).await.unwrap_err();
    assert_eq!(error.code(), TARGET_NOT_READY);
    assert!(error.next_step().contains("delivery_within"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_broker_nothing_is_refused_and_nothing_hangs() {
    let nobody = format!("127.0.0.1:{}", free_port());
    let publisher = publisher(&nobody, "cases");
    assert_eq!(publisher.check(LEASE_FOR, WITHIN).await.unwrap_err().code(), TARGET_UNAVAILABLE);
    let answers = publish(&publisher, delivery(vec![event("cases", 1, "CASE-1", "{}")])).await;
    assert!(matches!(answers[..], [Publication::Unavailable { .. }]), "{answers:?}");
    publisher.leave(7).await;
    publisher.close().await;
}
