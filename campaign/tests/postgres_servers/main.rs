//! Several server processes on one PostgreSQL schema: one ledger, whichever of them dies.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod caller_pool;
#[path = "../crash/callers.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod callers;
#[path = "../crash/dying_connections.rs"]
mod dying_connections;
#[path = "../crash/event_receiver.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod event_receiver;
#[path = "../crash/fixture.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod fixture;
mod grants;
mod own_table;
#[path = "../crash/relay_run.rs"]
mod relay_run;
mod relays;
#[path = "../crash/replay_run.rs"]
mod replay_run;
mod replays;
mod schema;
#[path = "../crash/server.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod server;
mod stalls;
