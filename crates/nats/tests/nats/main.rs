//! What the NATS target promises, on real servers: one that all tests share, and some of their own to kill and close off.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it expects; anything else fails it"
)]

mod checks;
mod credentials;
mod killed;
mod outbox;
mod place;
mod refused;
mod security;
mod server;
mod window;

onefold_conformance::publisher_suite!(place::Place);
