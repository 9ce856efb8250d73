//! What a check finds before the first event.

use std::time::Duration;

use onefold_conformance::publisher::events::{WITHIN, delivery, event, unique};
use onefold_conformance::publisher::pages::publish;
use onefold_core::error::{TARGET_NOT_READY, TARGET_UNAVAILABLE};
use onefold_core::port::{EventSender as _, Publication};

use crate::place::{make_stream, paged, sender, shared};
use crate::server::free_port;

const LEASE_FOR: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_with_a_stream_passes_and_says_what_is_not_fenced() {
    let stream = make_stream(&shared(), |_| {}).await;
    let sender = sender(&shared(), &format!("{stream}.events"));
    assert_eq!(sender.target(), format!("nats {stream}.events"));
    sender.check(LEASE_FOR, WITHIN).await.unwrap();
    assert!(sender.unfenced().unwrap().contains("duplicate window"));
    sender.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_stream_is_the_targets_fault_and_named_with_what_to_do() {
    let missing = unique("missing");
    let sender = sender(&shared(), &missing);
    let error = sender.check(LEASE_FOR, WITHIN).await.unwrap_err();
    assert_eq!(error.code(), TARGET_NOT_READY);
    assert!(error.detail().contains(&missing) && error.next_step().contains("add a stream"), "{error}");
    let publisher = paged(sender);
    let to = publisher.destination();
    let answers = publish(&*publisher, delivery(vec![event(to.as_ref(), 1, "CASE-1", "{}")])).await;
    assert!(matches!(answers[..], [Publication::Unavailable { code, .. }] if code == TARGET_NOT_READY), "{answers:?}");
    // It is there a moment later, and nothing has to be started anew.
    make_stream(&shared(), |config| config.subjects = vec![missing.clone()]).await;
    let answers = publish(&*publisher, delivery(vec![event(to.as_ref(), 1, "CASE-1", "{}")])).await;
    assert!(matches!(answers[..], [Publication::Published { .. }]), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_nothing_is_refused_and_nothing_hangs() {
    let sender = sender(&format!("nats://127.0.0.1:{}", free_port()), "cases");
    assert_eq!(sender.check(LEASE_FOR, WITHIN).await.unwrap_err().code(), TARGET_UNAVAILABLE);
    sender.close().await;
}
