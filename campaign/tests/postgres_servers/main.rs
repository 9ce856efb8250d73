//! Several server processes on one PostgreSQL schema: one ledger, whichever of them dies.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

#[path = "../crash/callers.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod callers;
mod crew;
#[path = "../crash/dying_connections.rs"]
mod dying_connections;
mod grants;
mod schema;
#[path = "../crash/server.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod server;
#[path = "../crash/stage.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod stage;
mod stalls;
