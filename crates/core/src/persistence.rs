//! Database failures: by SQLSTATE or result code and constraint name, never by message text.
//!
//! A port never shows its driver's error. A store or a repository turns it into a [`Fault`], and one
//! [`Constraints`] map of the application turns that into a registry error.

pub mod backup;
pub mod columns;
mod conflict;
mod constraints;
mod fault;
mod granted;
pub mod position;
mod rerun;

pub use conflict::{
    Commutative, CompareAndSet, ConcurrencyConflict, Current, Transitioned, retry_on_conflict, transition,
};
pub use constraints::Constraints;
pub use fault::Fault;
pub use granted::Granted;
pub use rerun::rerun_after;
