//! Database failures: by SQLSTATE or result code and constraint name, never by message text.
//!
//! A port never shows its driver's error. A store or a repository turns it into a [`Fault`], and one
//! [`Constraints`] map of the application turns that into a registry error.

mod conflict;
mod constraints;
mod fault;
mod rerun;

pub use conflict::{ConcurrencyConflict, Current, Transitioned, rerun_on_conflict};
pub use constraints::Constraints;
pub use fault::Fault;
pub use rerun::rerun_after;
