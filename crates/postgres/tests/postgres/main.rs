//! What the PostgreSQL store promises: what every store does, and what only a server can.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it expects; anything else fails it"
)]

mod asking;
mod conformance;
mod constraints;
mod cutter;
mod edges;
mod faults;
mod fixture;
mod full;
mod in_place;
mod leases;
mod load;
mod lost;
mod once;
mod outages;
mod outbox_asides;
mod outbox_contracts;
mod outbox_durable;
mod outbox_fixture;
mod outbox_lanes;
mod outbox_order;
mod outbox_refused;
mod outbox_staging;
mod outbox_stress;
mod outbox_stress_relay;
mod outbox_windows;
mod own_table;
mod pitfalls;
mod plans;
mod pooled;
mod position;
mod protocol;
mod questions;
mod server;
mod transaction;
mod users_pool;
