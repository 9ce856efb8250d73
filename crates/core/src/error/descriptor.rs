//! What is known of a code.

use super::class::{ErrorClass, Owner, Retryability, Visibility};
use super::project::{JobAnswer, Level, Verdict};

/// Everything the registry knows of one code. There is no code without one.
#[derive(Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The code, stable for ever.
    pub code: &'static str,
    /// A short title, stable.
    pub title: &'static str,
    /// The closed class.
    pub class: ErrorClass,
    /// The HTTP status.
    pub status: u16,
    /// Whether the same request may be sent again.
    pub retryability: Retryability,
    /// Who must act.
    pub owner: Owner,
    /// Who may read the detail.
    pub visibility: Visibility,
    /// Where a projection differs from its class's.
    pub overrides: &'static [Override],
    /// What an operator is told.
    pub guide: Guide,
}

/// A projection of one code that differs from its class's, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Override {
    /// What becomes of a message.
    Verdict(Verdict, &'static str),
    /// What becomes of a job.
    Job(JobAnswer, &'static str),
    /// How loud the log is.
    Log(Level, &'static str),
}

/// The operations guide of a code.
#[derive(Debug, PartialEq, Eq)]
pub struct Guide {
    /// What happened, in a sentence.
    pub summary: &'static str,
    /// What to look at first.
    pub first_check: &'static str,
    /// What can be done without risk.
    pub safe_action: &'static str,
    /// Who is asked when that does not help.
    pub escalation: &'static str,
}
