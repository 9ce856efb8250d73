//! The server and its command line, from outside: the real binary, real sockets, real files.
//!
//! | room | what it promises |
//! |---|---|
//! | `claims`, `records`, `operations`, `incidents`, `verbs`, `kinds`, `asks`, `health` | the API |
//! | `replays` | what is sent again, over the API and in the shell |
//! | `outbox`, `outbox_shown` | events and relays: staged, looked at, decided about; and what the commands say |
//! | `contracts`, `contracts_shown` | events that break their contract are refused or parked; pages hold |
//! | `identity` | who is let in, and what they may do |
//! | `bad_bodies`, `bad_requests`, `bad_starts`, `full_disk` | whatever comes in, an answer that helps |
//! | `help`, `shown`, `exits` | what people and shells see |
//! | `run`, `run_unknown`, `run_signals`, `run_full_disk` | any command, once |
//! | `named_server` | what a command does that is told of a server |
//! | `one_ledger` | a command finds the ledger that was meant, and makes no other |
//! | `restored`, `backup`, `backups` | what was acknowledged stays, or its loss is told |
//! | `gateway_try`, `examples` | a route's promise, seen from outside |
//! | `leaks`, `leaks_constructed` | what was planted is found nowhere |
//! | `pages` | what a person without a token can read |
//! | `notify` | a webhook and the log hear of every incident |
//! | `traces` | spans with the operation, in the caller's trace |
//! | `scrape` | the metrics are those that the design names |
//! | `openapi` | the description is what is served |
//! | `snippets` | every snippet of the README and the guides |
//! | `fixture`, `relay_fixture`, `receiver`, `wire`, `description`, `seen` | how the tests reach all that |
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod archive;
mod asks;
mod backup;
#[path = "../shared/backups.rs"]
mod backups;
mod bad_bodies;
mod bad_requests;
mod bad_starts;
mod claims;
mod contracts;
mod contracts_shown;
mod dependencies;
#[path = "../shared/description.rs"]
mod description;
mod examples;
mod exits;
#[path = "../shared/fixture.rs"]
mod fixture;
mod full_disk;
mod gateway;
mod gateway_try;
mod health;
mod help;
mod identity;
mod incidents;
mod kinds;
mod leaks;
mod leaks_constructed;
mod named_server;
mod notify;
mod one_ledger;
mod openapi;
mod operations;
mod outbox;
mod outbox_shown;
mod pages;
#[path = "../shared/receiver.rs"]
mod receiver;
mod records;
mod relay_fixture;
mod relays;
mod replays;
mod restored;
mod run;
mod run_full_disk;
mod run_signals;
mod run_unknown;
mod scrape;
mod seen;
mod shown;
mod snippets;
mod traces;
#[path = "../shared/wire.rs"]
mod wire;
