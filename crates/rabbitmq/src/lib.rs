//! The RabbitMQ target of the outbox: messages that a queue has, durably, within a time.
//!
//! Layout: `settings` is what a caller says, `tls` how a connection is encrypted, `connection` one that is open, with its
//! channels, `link` the one in use, opened again where it broke; `message` makes a message of an event, `fault` reads
//! the client's errors; `publisher` is the port.
//!
//! A channel carries one message at a time. The broker answers a message by its number on its channel, and a message
//! that no queue takes is returned without that number: with one on its way, both are about it.
//!
//! ```no_run
//! use onefold_core::outbox::DestinationTemplate;
//! use onefold_core::port::EventSender as _;
//! use onefold_rabbitmq::{RabbitMq, RabbitMqSettings};
//! use std::time::Duration;
//!
//! # async fn example() -> onefold_core::error::Result<()> {
//! let rabbitmq = RabbitMq::connect(RabbitMqSettings::new("amqps://rabbit.example/cases"))?;
//! let exchange = DestinationTemplate::parse("case.events")?;
//! let cases = rabbitmq.exchange(Some(exchange), DestinationTemplate::parse("{event_type}")?)?;
//! cases.check(Duration::from_secs(30), Duration::from_secs(15)).await?;
//! # Ok(())
//! # }
//! ```

mod connection;
mod fault;
mod link;
mod message;
mod publisher;
mod settings;
mod tls;

pub use publisher::{RabbitMq, RabbitMqPublisher};
pub use settings::{RabbitMqClientCertificate, RabbitMqLogin, RabbitMqSettings, RabbitMqTls};
