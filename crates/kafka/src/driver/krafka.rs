//! krafka: written in Rust, and all that it needs is a C compiler.

mod fault;
mod producer;
mod security;

use std::time::Duration;

use ::krafka::Kafka;
use ::krafka::admin::{AdminClient, ConfigResource, DescribeConfigsOptions, DescribeTopicsOptions};
use ::krafka::error::{ErrorCode, KrafkaError};

pub(super) use producer::{Acknowledgement, Producer};

use crate::client::Times;
use crate::fault::Fault;
use crate::settings::KafkaSettings;
use crate::topic::{BATCH_BYTES_MAX, CLEANUP_POLICY, TopicFacts};

/// A client and its producer without transactions.
pub(crate) struct Driver {
    kafka: Kafka,
    pub(super) producer: super::Producer,
    admin: AdminClient,
    times: Times,
}

impl Driver {
    pub(super) async fn connect(settings: &KafkaSettings, times: Times) -> Result<Self, Fault> {
        let kafka = Kafka::builder(settings.brokers.join(","))
            .client_id(&settings.client_id)
            .security(security::of(settings))
            .connect_timeout(times.request)
            .request_timeout(times.request)
            .connect()
            .await
            .map_err(|error| fault::of(&error))?;
        let producer = super::Producer::Krafka(Producer::plain(&kafka, times).await?);
        let admin = kafka.admin().default_api_timeout(times.delivery);
        Ok(Self { kafka, producer, admin, times })
    }

    pub(super) async fn transactional(&self, id: &str) -> Result<Producer, Fault> {
        Producer::transactional(&self.kafka, self.times, id).await
    }

    pub(super) async fn describe(&self, topic: &str, within: Duration) -> Result<TopicFacts, Fault> {
        describe(&self.admin, topic, within).await.map_err(|error| fault::of(&error))
    }
}

async fn describe(admin: &AdminClient, topic: &str, within: Duration) -> ::krafka::Result<TopicFacts> {
    let missing = || KrafkaError::broker(ErrorCode::UnknownTopicOrPartition, format!("{topic} was not described"));
    let mut topics = admin.describe_topics([topic], DescribeTopicsOptions::default().timeout(within)).await?;
    let partitions = topics.remove(topic).ok_or_else(missing)??.partitions.len();
    let resource = ConfigResource::topic(topic);
    let options = DescribeConfigsOptions::default()
        .timeout(within)
        .config_names(vec![CLEANUP_POLICY.to_owned(), BATCH_BYTES_MAX.to_owned()]);
    let mut configs = admin.describe_configs([resource.clone()], options).await?;
    let entries = configs.remove(&resource).ok_or_else(missing)??;
    Ok(TopicFacts::read(partitions, |name| entries.iter().find(|entry| entry.name == name)?.value.clone()))
}
