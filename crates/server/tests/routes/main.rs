//! The table of the `Idempotency-Key` layer, row by row over real sockets: through the layer and through the gateway.
//!
//! | room | what it promises |
//! |---|---|
//! | `rows` | each row of the table, in its order |
//! | `meanings` | what the upstream's answers mean |
//! | `bodies` | bodies of every sort, both ways |
//! | `limits` | what a route and its dependency limit |
//! | `keys` | the key at the upstream |
//! | `crowds` | many at once, and callers that go away |
//! | `scope` | whose key it is |
//! | `egress` | the gateway before a provider that is not idempotent |
//! | `deaths` | a gateway that dies between act and record |
//! | `watched` | what people see of a gateway |
//! | `store_fixture` | the store: here SQLite, in `postgres_routes` PostgreSQL |
//! | `route_fixture`, `provider`, `client` | how the tests reach all that |
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod bodies;
mod client;
mod crowds;
mod deaths;
mod egress;
mod keys;
mod limits;
mod meanings;
mod provider;
mod route_fixture;
mod rows;
mod scope;
mod store_fixture;
mod watched;
