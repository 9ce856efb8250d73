//! What the embedded store promises: what every store does, and what only a file can.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it expects; anything else fails it"
)]

mod clock;
mod conformance;
mod files;
mod fixture;
mod full;
mod log_sync;
mod once;
mod owner;
mod plans;
mod pool;
mod position;
mod sequence;
mod shared;
mod transaction;
mod wal;
