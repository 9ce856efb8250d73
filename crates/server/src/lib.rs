//! The one binary: serves the ledger to any language, runs any command once, shows the promise.
//!
//! # Layout
//!
//! | room | what it does |
//! |---|---|
//! | `cli` | what can be typed; help and exit codes |
//! | `commands` | a file a command |

mod cli;
mod commands;
mod exit;

pub use cli::main;
