//! What the Kafka target promises, on real brokers: one that all tests share, and some of their own to kill and cut off.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it expects; anything else fails it"
)]

mod broker;
mod checks;
mod cluster;
mod cuts;
mod events;
mod fencing;
mod kcat;
mod killed;
mod order;
mod proxy;
mod records;
mod refused;
mod relay;
mod security;
mod silent;
mod stuck;
mod topics;

/// The library whose promises these are. `tests/rdkafka` has the same tests for the other one.
const CLIENT: onefold_kafka::KafkaClient = onefold_kafka::KafkaClient::Krafka;
