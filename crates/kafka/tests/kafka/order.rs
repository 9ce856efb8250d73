//! Many events at once: all of them, each once, in order per key.

use onefold_core::port::{Delivery, Publication, Publisher as _};

use crate::events::{delivery, event, events};
use crate::kcat;
use crate::relay::{assert_at, assert_in_order, publish_all};
use crate::topics::{create, publisher, shared};

#[tokio::test(flavor = "multi_thread")]
async fn every_event_is_written_once_and_in_the_order_of_its_aggregate() {
    let topic = create(&shared(), 3, &[("max.message.bytes", "20000")]).await;
    // A hot aggregate fills many batches, each of which the topic takes.
    let events = events(&topic, 1_500, 5, 400);
    let positions = publish_all(&publisher(&shared(), &topic), &events, 1_000, crate::events::WITHIN).await;
    let log = kcat::committed(&shared(), &topic);
    assert_eq!((positions.len(), log.len()), (1_500, 1_500));
    assert_in_order(&events, &log);
    assert_at(&positions, &log);
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_are_published_together_and_answered_apart() {
    let topic = create(&shared(), 3, &[]).await;
    let publisher = publisher(&shared(), &topic);
    let lanes: Vec<Delivery> = (0..4)
        .map(|lane| {
            let events = (0..10).map(|seq| event(&topic, i64::from(lane) * 10 + seq, &format!("CASE-{lane}"), "{}"));
            Delivery { lane, ..delivery(events.collect()) }
        })
        .collect();
    let answers = publisher.publish(lanes.clone()).await;
    let log = kcat::committed(&shared(), &topic);
    assert_eq!(log.len(), 40);
    for (lane, answers) in lanes.iter().zip(answers) {
        for (event, answer) in lane.events.iter().zip(answers) {
            let id = event.stored.event.id.to_string();
            let record = log.iter().find(|record| record.id() == id).expect("it is written");
            assert_eq!(answer, Publication::Published { position: Some(record.position().into()) });
        }
    }
}
