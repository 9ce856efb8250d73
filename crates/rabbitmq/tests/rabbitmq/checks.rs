//! What a check finds before the first event.

use std::time::Duration;

use onefold_conformance::publisher::events::{WITHIN, delivery, event, unique};
use onefold_conformance::publisher::pages::publish;
use onefold_core::error::{TARGET_NOT_READY, TARGET_UNAVAILABLE};
use onefold_core::port::{EventSender as _, Publication};

use crate::place::{Queue, paged, sender, shared};

const LEASE_FOR: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_exists_passes_and_says_what_is_not_fenced() {
    let queue = Queue::make(&shared(), "#", &[]).await;
    let sender = sender(&shared(), &queue.name, "{event_type}");
    assert_eq!(sender.target(), format!("rabbitmq {} {{event_type}}", queue.name));
    sender.check(LEASE_FOR, WITHIN).await.unwrap();
    assert!(sender.unfenced().unwrap().contains("RabbitMQ drops no repeated message"));
    sender.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_exchange_is_the_targets_fault_and_named_with_what_to_do() {
    let missing = unique("missing");
    let sender = sender(&shared(), &missing, "cases");
    let error = sender.check(LEASE_FOR, WITHIN).await.unwrap_err();
    assert_eq!(error.code(), TARGET_NOT_READY);
    assert!(error.detail().contains(&missing) && error.next_step().contains("declare the exchange"), "{error}");
    let publisher = paged(sender);
    let to = publisher.destination();
    let answers = publish(&*publisher, delivery(vec![event(to.as_ref(), 1, "CASE-1", "{}")])).await;
    assert!(matches!(answers[..], [Publication::Unavailable { code, .. }] if code == TARGET_NOT_READY), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_exchange_leads_to_the_queue_that_the_routing_key_names() {
    let queue = Queue::make(&shared(), "#", &[]).await;
    let sender = sender(&shared(), "", &queue.name);
    sender.check(LEASE_FOR, WITHIN).await.unwrap();
    let answers = publish(&*paged(sender), delivery(vec![event(None, 1, "CASE-1", "1")])).await;
    assert!(matches!(answers[..], [Publication::Published { .. }]), "{answers:?}");
    assert_eq!(queue.payloads().await, ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_broker_nothing_is_refused_and_nothing_hangs() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("amqp://{}", listener.local_addr().unwrap());
    drop(listener);
    let sender = sender(&nobody, "cases", "cases");
    assert_eq!(sender.check(LEASE_FOR, WITHIN).await.unwrap_err().code(), TARGET_UNAVAILABLE);
    sender.close().await;
}
