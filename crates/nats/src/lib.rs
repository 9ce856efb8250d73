//! The NATS target of the outbox: messages that a JetStream stream has, within a time, each once within its window.
//!
//! Layout: `settings` is what a caller says, `tls` how a connection is encrypted, `connection` one that is open, `link` the
//! one in use, opened again where it broke; `stream` is what is known of a subject's stream, `message` makes a message of
//! an event, `fault` reads the client's errors; `publisher` is the port.
//!
//! A message's id is its event's. A stream drops a repeated id within its duplicate window, so a relay that was paused
//! beyond its lease repeats nothing as long as that window is longer than what a lease and a delivery may take.
//!
//! ```no_run
//! use onefold_core::outbox::DestinationTemplate;
//! use onefold_core::port::EventSender as _;
//! use onefold_nats::{Nats, NatsSettings};
//! use std::time::Duration;
//!
//! # async fn example() -> onefold_core::error::Result<()> {
//! let nats = Nats::connect(NatsSettings::new(["tls://nats-1.example:4222", "tls://nats-2.example:4222"]))?;
//! let cases = nats.subject(DestinationTemplate::parse("cases.{event_type}")?)?;
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
mod stream;
mod tls;

pub use publisher::{Nats, NatsPublisher};
pub use settings::{NatsClientCertificate, NatsLogin, NatsSettings, NatsTls};
