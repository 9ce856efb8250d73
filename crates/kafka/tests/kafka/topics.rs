//! The broker that all tests share, and topics on it.

use std::collections::HashMap;

use krafka::admin::{ConfigOp, ConfigResource, CreateTopicsOptions, IncrementalAlterConfigsOptions, NewTopic};
use onefold_core::outbox::DestinationTemplate;
use onefold_kafka::{Kafka, KafkaPublisher, KafkaSettings};

use crate::events::unique;

/// `cargo xtask test` sets it.
pub(crate) fn shared() -> String {
    std::env::var("ONEFOLD_TEST_KAFKA").expect("ONEFOLD_TEST_KAFKA names a broker: run `cargo xtask test`")
}

async fn admin(broker: &str) -> krafka::admin::AdminClient {
    krafka::Kafka::builder(broker).connect().await.expect("the broker answers").admin()
}

/// A new topic with these settings.
pub(crate) async fn create(broker: &str, partitions: i32, settings: &[(&str, &str)]) -> String {
    let name = unique("cases");
    let mut topic = NewTopic::new(&name, partitions, -1).unwrap();
    for (key, value) in settings {
        topic = topic.with_config(*key, *value);
    }
    make(broker, topic).await;
    name
}

pub(crate) async fn make(broker: &str, topic: NewTopic) {
    let name = topic.name.clone();
    let mut made = admin(broker).await.create_topics(vec![topic], CreateTopicsOptions::default()).await.unwrap();
    made.remove(&name).expect("an answer").expect("the topic is made");
}

/// Changes a setting of a topic.
pub(crate) async fn set(broker: &str, topic: &str, key: &str, value: &str) {
    let resource = ConfigResource::topic(topic);
    let change = HashMap::from([(resource.clone(), vec![ConfigOp::set(key, value)])]);
    let mut changed =
        admin(broker).await.incremental_alter_configs(change, IncrementalAlterConfigsOptions::default()).await.unwrap();
    changed.remove(&resource).expect("an answer").expect("the setting is changed");
}

pub(crate) fn publisher(broker: &str, template: &str) -> KafkaPublisher {
    with(KafkaSettings::new([broker]), template)
}

pub(crate) fn with(settings: KafkaSettings, template: &str) -> KafkaPublisher {
    let settings = KafkaSettings { client: crate::CLIENT, ..settings };
    Kafka::connect(settings).unwrap().topic(DestinationTemplate::parse(template).unwrap())
}
