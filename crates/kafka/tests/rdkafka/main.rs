//! The same promises as in `tests/kafka`, kept through rdkafka. How a task of krafka dies is left out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it expects; anything else fails it"
)]

#[path = "../kafka/broker.rs"]
mod broker;
#[path = "../kafka/checks.rs"]
mod checks;
#[path = "../kafka/cluster.rs"]
mod cluster;
#[path = "../kafka/cuts.rs"]
mod cuts;
#[path = "../kafka/events.rs"]
mod events;
#[path = "../kafka/fencing.rs"]
mod fencing;
#[path = "../kafka/kcat.rs"]
mod kcat;
#[path = "../kafka/killed.rs"]
mod killed;
#[path = "../kafka/order.rs"]
mod order;
#[path = "../kafka/proxy.rs"]
mod proxy;
#[path = "../kafka/records.rs"]
mod records;
#[path = "../kafka/refused.rs"]
mod refused;
#[path = "../kafka/relay.rs"]
mod relay;
#[path = "../kafka/security.rs"]
mod security;
#[path = "../kafka/silent.rs"]
mod silent;
#[path = "../kafka/topics.rs"]
mod topics;

/// The library whose promises these are.
const CLIENT: onefold_kafka::KafkaClient = onefold_kafka::KafkaClient::Rdkafka;
