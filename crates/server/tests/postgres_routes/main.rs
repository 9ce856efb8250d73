//! The table of the `Idempotency-Key` layer on PostgreSQL, through the layer and through gateways that share it.
//!
//! The rooms are those of `routes`; here are the store, and what only several gateways on one database can show.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

#[path = "../routes/bodies.rs"]
mod bodies;
#[path = "../routes/client.rs"]
mod client;
#[path = "../routes/crowds.rs"]
mod crowds;
#[path = "../routes/deaths.rs"]
mod deaths;
#[path = "../shared/description.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which use the rest")]
mod description;
#[path = "../routes/door.rs"]
mod door;
#[path = "../routes/egress.rs"]
mod egress;
#[path = "../postgres_server/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which use the rest")]
mod harness;
mod home;
#[path = "../routes/keys.rs"]
mod keys;
#[path = "../routes/limits.rs"]
mod limits;
mod many;
#[path = "../routes/meanings.rs"]
mod meanings;
#[path = "../routes/provider.rs"]
mod provider;
#[path = "../routes/rows.rs"]
mod rows;
#[path = "../routes/scope.rs"]
mod scope;
#[path = "../shared/stage.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which use the rest")]
mod stage;
#[path = "../routes/watched.rs"]
mod watched;
#[path = "../shared/wire.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which use the rest")]
mod wire;
