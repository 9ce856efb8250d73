//! What the RabbitMQ target promises, on real brokers: one that all tests share, and some of their own to kill and close
//! off.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it expects; anything else fails it"
)]

mod broker;
mod checks;
mod killed;
mod place;
mod refused;
mod returned;
mod security;

onefold_conformance::publisher_suite!(place::Place);
