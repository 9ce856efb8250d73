//! One suite that every store passes.
//!
//! A store crate implements [`Harness`] and writes, in an integration test of its own:
//!
//! ```text
//! onefold_conformance::suite!(MyHarness);
//! ```
//!
//! That expands to a test per promise, named after it, and to the state machine that compares the
//! store with a [`model`] of plain maps.
//!
//! # Layout
//!
//! | file | what it holds |
//! |---|---|
//! | `harness` | what a store crate brings |
//! | `fixture` | a store with a clock and chance of its own, and short ways to ask it |
//! | `kinds`, `ledger/outcomes` | what the promises are made with |
//! | `ledger/claim` … `ledger/batch` | the promises of a ledger, a file a transition |
//! | `outbox` | the promises of an outbox: `outbox_suite!` |
//! | `publisher` | the promises of a target, on a real broker: `publisher_suite!` |
//! | `registry`, `announcements` | the promises of the other ports |
//! | `model` | a store of plain maps |
//! | `ledger/machine` | random commands on the store and on the model, compared answer by answer |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::wildcard_enum_match_arm,
    clippy::unchecked_time_subtraction,
    reason = "the promises are tests: a broken one panics with what was found"
)]

pub mod announcements;
pub mod fixture;
pub mod harness;
pub mod incidents;
pub mod kinds;
pub mod ledger;
pub mod model;
pub mod outbox;
pub mod publisher;
pub mod registry;

mod suite;

pub use harness::Harness;
pub use model::{Model, ModelHarness};
