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
//! | [`event`] | what an event is called, carries and looks like outside |
//! | [`outbox`] | which events are published next, and what a target's answer changes |
//! | [`retry`] | when to try again, by failure category |
//! | [`incident`] | the work item that a person gets |
//! | [`error`] | the registry of error codes |
//! | [`clock`] | which time may delete |
//! | [`row`] | the ledger as rows: every column, once |
//! | [`archive`] | what a prune deletes, as lines that can be read back |
//! | [`backup`] | a ledger as rows of plain values |
//! | [`position`] | how far a ledger had come, and whether it went back |
//! | [`call`] | what a failed call to the outside means |
//! | [`use_case`] | what a use case answers |
//! | [`persistence`] | what a database failure means |
//! | [`port`] | what a store, a clock and a source of randomness must offer |

pub mod archive;
pub mod backup;
pub mod call;
pub mod clock;
pub mod effect;
pub mod error;
pub mod event;
pub mod fingerprint;
pub mod incident;
pub mod ledger;
mod name;
pub mod operation;
pub mod outbox;
pub mod persistence;
pub mod port;
pub mod position;
pub mod retry;
pub mod row;
pub mod time;
pub mod use_case;

pub use crate::error::{Error, Result};
pub use crate::time::Timestamp;
