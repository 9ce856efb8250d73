//! When to try again: a table from failure category, not one number.

mod category;
mod schedule;
mod table;

pub use category::Category;
pub use schedule::{Jitter, Schedule};
pub use table::{FailedAttempt, NextRetry, RetryEnd, RetryRow, RetryTable};
