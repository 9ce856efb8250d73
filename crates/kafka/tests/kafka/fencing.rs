//! Compacted topics: a holder whose lane was taken cannot write there any more.

use onefold_core::outbox::RelayName;
use onefold_core::port::{Delivery, Publication, Publisher as _};
use onefold_kafka::KafkaPublisher;

use crate::events::{delivery, event, events, unique};
use crate::kcat;
use crate::relay::{assert_at, assert_in_order, publish, publish_all};
use crate::topics::{create, publisher, shared};

fn relay(topic: &str, name: &RelayName) -> KafkaPublisher {
    publisher(&shared(), topic).for_relay(name)
}

fn under(fence: u64, topic: &str, seq: i64) -> Delivery {
    Delivery { fence, ..delivery(vec![event(topic, seq, "CASE-1", seq.to_string())]) }
}

fn is_published(answers: &[Publication]) -> bool {
    answers.iter().all(|answer| matches!(answer, Publication::Published { .. }))
}

async fn compacted() -> String {
    create(&shared(), 3, &[("cleanup.policy", "compact")]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_lane_was_taken_writes_nothing_more() {
    let (topic, name) = (compacted().await, RelayName::parse(&unique("cases")).unwrap());
    let (paused, next) = (relay(&topic, &name), relay(&topic, &name));
    assert!(is_published(&publish(&paused, under(1, &topic, 1)).await));
    assert!(is_published(&publish(&next, under(2, &topic, 2)).await));
    let late = publish(&paused, under(1, &topic, 3)).await;
    assert!(matches!(late[..], [Publication::Unavailable { .. }]), "{late:?}");
    assert!(is_published(&publish(&next, under(2, &topic, 4)).await), "the lane's holder is not disturbed");
    let values: Vec<String> = kcat::committed(&shared(), &topic).into_iter().map(|record| record.value).collect();
    assert_eq!(values, ["1", "2", "4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn relays_and_lanes_do_not_fence_each_other() {
    let topic = compacted().await;
    let cases = relay(&topic, &RelayName::parse(&unique("cases")).unwrap());
    let partners = relay(&topic, &RelayName::parse(&unique("partners")).unwrap());
    for seq in 0..3 {
        assert!(is_published(&publish(&cases, under(1, &topic, seq)).await));
        assert!(is_published(&publish(&cases, Delivery { lane: 8, ..under(1, &topic, 10 + seq) }).await));
        assert!(is_published(&publish(&partners, under(1, &topic, 20 + seq)).await));
    }
    assert_eq!(kcat::committed(&shared(), &topic).len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_compacted_topic_are_complete_and_in_order() {
    let topic = compacted().await;
    let events = events(&topic, 600, 4, 100);
    let positions = publish_all(&publisher(&shared(), &topic), &events, 250, crate::events::WITHIN).await;
    let log = kcat::committed(&shared(), &topic);
    assert_eq!(log.len(), 600);
    assert_in_order(&events, &log);
    assert_at(&positions, &log);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_comes_back_goes_on() {
    let topic = compacted().await;
    let publisher = publisher(&shared(), &topic);
    assert!(is_published(&publish(&publisher, under(1, &topic, 1)).await));
    publisher.leave(7).await;
    assert!(is_published(&publish(&publisher, under(3, &topic, 2)).await));
    assert!(is_published(&publish(&publisher, under(4, &topic, 3)).await), "a new lease of the same process");
    publisher.close().await;
    assert!(is_published(&publish(&publisher, under(4, &topic, 4)).await), "closed is not the end");
    assert_eq!(kcat::committed(&shared(), &topic).len(), 4);
}
