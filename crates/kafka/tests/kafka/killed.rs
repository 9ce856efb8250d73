//! A broker that is killed in the middle of a page.

use std::time::Duration;

use onefold_core::port::Publisher as _;

use crate::broker::{Brokers, Setup};
use crate::events::{WITHIN, delivery, events};
use crate::kcat;
use crate::relay::{assert_at, assert_in_order, publish, publish_during};
use crate::topics::{create, publisher};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_readable_after_the_broker_was_killed() {
    let mut broker = Brokers::one(&Setup::default()).await;
    let topic = create(&broker.direct(0), 3, &[]).await;
    let events = events(&topic, 30_000, 20, 200);
    let publisher = publisher(&broker.clients(), &topic);
    let faults = async {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            broker.kill(0);
            broker.restart(0).await;
        }
    };
    let (events, positions) = publish_during(&publisher, &events, faults).await;
    let log = kcat::committed(&broker.direct(0), &topic);
    assert_in_order(events, &log);
    assert!(positions.len() > events.len() / 2, "acknowledgements say where a record is");
    assert_at(&positions, &log);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_although_the_broker_is_gone() {
    let mut broker = Brokers::one(&Setup::default()).await;
    let topic = create(&broker.direct(0), 1, &[("cleanup.policy", "compact")]).await;
    let publisher = publisher(&broker.clients(), &topic);
    publish(&publisher, delivery(events(&topic, 10, 1, 10))).await;
    broker.kill(0);
    // Without a bound the client would try for as long as a page may take.
    tokio::time::timeout(WITHIN, publisher.leave(7)).await.expect("the lane is left");
    tokio::time::timeout(WITHIN, publisher.close()).await.expect("the publisher is closed");
}
