//! The server and its command line on a real PostgreSQL: several servers, one ledger.
//!
//! | room | what it promises |
//! |---|---|
//! | `one` | a server on PostgreSQL is the server that users know |
//! | `many` | several servers on one database are one ledger |
//! | `backup`, `backups` | what was acknowledged stays, or its loss is told |
//! | `commands` | every command, with and without a server |
//! | `own_table` | a relay on a team's own table is shown with the others |
//! | `bad_starts`, `outages` | whatever is wrong, one clear error, and no password in it |
//! | `fixture`, `schema_fixture`, `database_proxy`, `wire`, `description` | how the tests reach all that |
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod backup;
#[path = "../shared/backups.rs"]
mod backups;
mod bad_starts;
mod commands;
mod database_proxy;
#[path = "../shared/description.rs"]
#[allow(dead_code, reason = "shared with the tests of the server on SQLite, which use the rest")]
mod description;
#[path = "../shared/fixture.rs"]
#[allow(dead_code, reason = "shared with the tests of the server on SQLite, which use the rest")]
mod fixture;
mod many;
mod one;
mod outages;
mod own_table;
#[path = "../shared/receiver.rs"]
#[allow(dead_code, reason = "shared with the tests of the server on SQLite, which use the rest")]
mod receiver;
mod schema_fixture;
#[path = "../shared/wire.rs"]
#[allow(dead_code, reason = "shared with the tests of the server on SQLite, which use the rest")]
mod wire;
