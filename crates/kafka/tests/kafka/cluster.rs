//! Three brokers: leaders move, one dies, and nothing is lost or out of order.

use std::collections::HashMap;
use std::time::Duration;

use krafka::admin::{ElectLeadersOptions, ElectionType, NewTopic, TopicPartition};

use crate::broker::{Brokers, Setup};
use crate::events::{events, unique};
use crate::kcat;
use crate::relay::{assert_at, assert_in_order, publish_during};
use crate::topics::{make, with};

/// Makes the replica that the topic prefers lead again.
async fn elect(broker: &str, topic: &str) {
    let admin = krafka::Kafka::builder(broker).connect().await.expect("a broker answers").admin();
    let partitions = (0..3).map(|partition| TopicPartition::new(topic, partition)).collect();
    let elected = admin.elect_leaders(ElectionType::Preferred, Some(partitions), ElectLeadersOptions::default()).await;
    assert!(elected.expect("an election").values().all(Result::is_ok), "every partition has its leader");
}

#[tokio::test(flavor = "multi_thread")]
async fn order_and_acknowledgements_survive_leaders_that_move() {
    let settings = vec!["min.insync.replicas=2".to_owned(), "auto.leader.rebalance.enable=false".to_owned()];
    let mut brokers = Brokers::start(3, &Setup { settings, ..Setup::default() }).await;
    let topic = unique("cases");
    let replicas = HashMap::from([(0, vec![0, 1, 2]), (1, vec![1, 2, 0]), (2, vec![2, 0, 1])]);
    make(&brokers.direct(0), NewTopic::with_replica_assignment(&topic, replicas).unwrap()).await;
    let events = events(&topic, 60_000, 20, 200);
    let settings = onefold_kafka::KafkaSettings::new((0..3).map(|at| brokers.clients_of(at)));
    let publisher = with(settings, &topic);
    let faults = async {
        for at in [1, 2] {
            tokio::time::sleep(Duration::from_millis(500)).await;
            brokers.kill(at);
            // The others notice, and one of them leads.
            brokers.until_led_by_others(&topic, at).await;
            brokers.restart(at).await;
            brokers.until_in_sync(&topic).await;
            elect(&brokers.direct(0), &topic).await;
        }
    };
    let (events, positions) = publish_during(&publisher, &events, faults).await;
    let log = kcat::committed(&brokers.direct(0), &topic);
    assert_in_order(events, &log);
    assert_at(&positions, &log);
}
