//! The Kafka target of the outbox: records that are written durably, in order per key, within a time.
//!
//! Layout: `settings` is what a caller says, `client` a connected client with its times, `topic` what is known of a
//! topic; `record` makes a record of an event, `page` decides which records may be on their way together, `send` sends
//! them, `lane` does so in transactions, `fault` says whose fault a failure is; `driver` has the two client libraries;
//! `publisher` is the port.
//!
//! A key is never in two batches at once. A batch is written as a whole or not at all, so no later event of an
//! aggregate is ever written before an earlier one that failed.
//!
//! ```no_run
//! use onefold_core::outbox::DestinationTemplate;
//! use onefold_core::port::Publisher as _;
//! use onefold_kafka::{Kafka, KafkaSettings};
//! use std::time::Duration;
//!
//! # async fn example() -> onefold_core::error::Result<()> {
//! let kafka = Kafka::connect(KafkaSettings::new(["broker-1.example:9092", "broker-2.example:9092"]))?;
//! let cases = kafka.topic(DestinationTemplate::parse("case.events.v1")?);
//! cases.check(Duration::from_secs(30), Duration::from_secs(15)).await?;
//! # Ok(())
//! # }
//! ```

mod check;
mod client;
mod driver;
mod fault;
mod lane;
mod page;
mod publisher;
mod record;
mod send;
mod settings;
mod topic;

pub use publisher::{Kafka, KafkaPublisher};
pub use settings::{KafkaClient, KafkaClientCertificate, KafkaSasl, KafkaSettings, KafkaTls, SaslMechanism};
