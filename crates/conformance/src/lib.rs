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
//! | `scene` | a store with a clock and chance of its own, and short ways to ask it |
//! | `clock`, `random` | time and chance that a test moves |
//! | `kinds`, `outcomes` | what the promises are made with |
//! | `claim` … `batch` | the promises, a file per port's verb |
//! | `model` | a store of plain maps |
//! | `machine` | random commands on the store and on the model, compared answer by answer |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::wildcard_enum_match_arm,
    clippy::unchecked_time_subtraction,
    reason = "the promises are tests: a broken one panics with what was found"
)]

pub mod batch;
pub mod claim;
pub mod clock;
pub mod harness;
pub mod incident;
pub mod kinds;
pub mod look;
pub mod machine;
pub mod model;
pub mod outcomes;
pub mod prune;
pub mod random;
pub mod reconcile;
pub mod record;
pub mod release;
pub mod renew;
pub mod resolve;
pub mod scene;
pub mod share;
pub mod sweep;
pub mod tell;

mod suite;

pub use clock::ManualClock;
pub use harness::Harness;
pub use model::{Model, ModelHarness};
pub use random::SeededRandom;
