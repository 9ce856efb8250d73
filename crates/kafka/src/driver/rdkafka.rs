//! rdkafka: librdkafka, in C, with threads of its own and calls that block.
//!
//! Every producer is a client of its own here, with its own connections; so is the one that describes topics.

mod config;
mod context;
mod fault;
mod native;
mod producer;

use std::time::Duration;

use ::rdkafka::admin::{AdminClient, AdminOptions, ResourceSpecifier};
use ::rdkafka::producer::Producer as _;

pub(super) use producer::{Acknowledgement, Producer};

use self::config::Config;
use self::context::Context;
use self::native::{EndedAside, Native};
use crate::client::Times;
use crate::fault::Fault;
use crate::settings::KafkaSettings;
use crate::topic::TopicFacts;

/// The clients of one cluster.
pub(crate) struct Driver {
    config: Config,
    pub(super) producer: super::Producer,
    native: Native,
    admin: EndedAside<AdminClient<Context>>,
    times: Times,
}

impl Driver {
    pub(super) async fn connect(settings: &KafkaSettings, times: Times) -> Result<Self, Fault> {
        let config = Config::of(settings, times);
        let context = Context::default();
        let native = Native::new(config.plain(), context.clone()).await?;
        native.answered(&context, times.request).await?;
        let (quiet, context) = (config.admin(), Context::default());
        let admin = native::made(move || quiet.create_with_context(context)).await?;
        let producer = super::Producer::Rdkafka(Producer::plain(native.clone()));
        Ok(Self { config, producer, native, admin: EndedAside::new(admin), times })
    }

    pub(super) async fn transactional(&self, id: &str) -> Result<Producer, Fault> {
        let native = Native::new(self.config.transactional(id), Context::default()).await?;
        let within = self.times.delivery;
        let fenced = native.call(move |producer| producer.init_transactions(within)).await;
        fenced.map_err(|error| fault::in_transaction(fault::of(&error)))?;
        Ok(Producer::transactional(native))
    }

    pub(super) async fn describe(&self, topic: &str, within: Duration) -> Result<TopicFacts, Fault> {
        let name = topic.to_owned();
        let asked = self.native.call(move |producer| producer.client().fetch_metadata(Some(&name), within)).await;
        let metadata = asked.map_err(|error| fault::of(&error))?;
        let described = metadata.topics().first().ok_or_else(|| fault::missing(topic))?;
        if let Some(error) = described.error() {
            return Err(fault::of_code(error.into(), topic));
        }
        let partitions = described.partitions().len();
        let options = AdminOptions::new().request_timeout(Some(within));
        let asked = self.admin.get()?.describe_configs(&[ResourceSpecifier::Topic(topic)], &options).await;
        let configs = asked.map_err(|error| fault::of(&error))?.pop().ok_or_else(|| fault::missing(topic))?;
        let settings = configs.map_err(|code| fault::of_code(code, topic))?;
        Ok(TopicFacts::read(partitions, |name| settings.get(name)?.value.clone()))
    }
}
