//! The topic that everything goes to.

use krafka::admin::{CreateTopicsOptions, NewTopic};

pub(crate) const NAME: &str = "case.events.v1";

/// Makes it, with some partitions.
pub(crate) async fn create(broker: &str) {
    let admin = krafka::Kafka::builder(broker).connect().await.unwrap().admin();
    let topic = NewTopic::new(NAME, 6, 1).unwrap();
    let mut made = admin.create_topics(vec![topic], CreateTopicsOptions::default()).await.unwrap();
    made.remove(NAME).expect("an answer").expect("the topic is made");
}
