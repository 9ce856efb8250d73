//! The rules of Onefold: who may act, and what is believed after a crash.
//!
//! Nothing in this crate reads a clock, opens a file or awaits: time, randomness and stored state
//! are arguments. Stores, property tests and the model checker all drive the same functions.
//!
//! # Layout
//!
//! | room | what it decides |
//! |---|---|
//! | [`operation`] | identity: tenant, kind, id, templates |
//! | [`effect`] | effect classes, what an unknown outcome may do, the terms of a kind |
//! | [`fingerprint`] | whether two requests are the same request |
//! | [`ledger`] | the life of an operation: claim, record, expiry, reconciliation, resolution |
//! | [`retry`] | when to try again, by failure category |
//! | [`incident`] | the work item that a person gets |
//! | [`error`] | the registry of error codes |
//! | [`clock`] | which time may delete |
//! | [`archive`] | what a prune deletes, as lines that can be read back |
//! | [`call`] | what a failed call to the outside means |
//! | [`declare`] | kinds declared in configuration, with the line of every mistake |
//! | [`outcome`] | what a use case answers |
//! | [`persistence`] | what a database failure means |
//! | [`ports`] | what a store, a clock and a source of randomness must offer |

pub mod archive;
pub mod call;
pub mod clock;
pub mod declare;
pub mod effect;
pub mod error;
pub mod fingerprint;
pub mod incident;
pub mod ledger;
pub mod operation;
pub mod outcome;
pub mod persistence;
pub mod ports;
pub mod retry;
pub mod time;

pub use crate::error::{Error, Result};
pub use crate::time::Timestamp;
