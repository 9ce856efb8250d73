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
#[path = "../routes/egress.rs"]
mod egress;
#[path = "../shared/fixture.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which use the rest")]
mod fixture;
#[path = "../routes/keys.rs"]
mod keys;
#[path = "../routes/limits.rs"]
mod limits;
mod many;
#[path = "../routes/meanings.rs"]
mod meanings;
#[path = "../routes/provider.rs"]
mod provider;
#[path = "../routes/route_fixture.rs"]
mod route_fixture;
#[path = "../routes/rows.rs"]
mod rows;
#[path = "../postgres_server/schema_fixture.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which use the rest")]
mod schema_fixture;
#[path = "../routes/scope.rs"]
mod scope;
mod store_fixture;
#[path = "../routes/watched.rs"]
mod watched;
#[path = "../shared/wire.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which use the rest")]
mod wire;
