//! The one binary: serves the ledger to any language, runs any command once, shows the promise.
//!
//! # Layout
//!
//! | room | what it does |
//! |---|---|
//! | `cli` | what can be typed |
//! | `commands` | a file a command |
//! | `exit` | how a command ends, for shells and for people |
//! | `config` | defaults, file, environment, flags; each value with its origin |
//! | `database` | the store: SQLite or PostgreSQL |
//! | `app` | the ledger, opened; kinds declared and pinned |
//! | `reconcile_http` | a provider asked over HTTP |
//! | `identity` | who calls, and what a role may do |
//! | `api` | the ledger over HTTP |
//! | `api_server` | serving and draining |
//! | `gateway` | the reverse proxy: its configuration, start and reload |
//! | `notify` | tells a webhook of incidents |
//! | `metrics` | where metrics are gathered |
//! | `client` | how commands reach the ledger |
//! | `outcome_file` | what a run could not record, until it is recorded |
//! | `trace` | spans for a collector |
//! | `table`, `log` | what people see |

mod api;
mod api_server;
mod app;
mod cli;
mod client;
mod commands;
mod config;
mod database;
mod exit;
mod gateway;
mod identity;
mod log;
mod metrics;
mod notify;
mod outcome_file;
mod part;
mod reconcile_http;
mod relays;
mod table;
mod trace;

pub use cli::{main, run_with};
