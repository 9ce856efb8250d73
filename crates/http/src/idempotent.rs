//! `Idempotency-Key`: a request takes hold once.

mod performed;

pub use performed::{Answered, Unanswered};
