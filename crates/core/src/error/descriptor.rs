//! What is known of a code.

use super::class::{Class, Owner, Retryability, Visibility};

/// Everything the registry knows of one code. There is no code without one.
#[derive(Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The code, stable for ever.
    pub code: &'static str,
    /// A short title, stable.
    pub title: &'static str,
    /// The closed class.
    pub class: Class,
    /// The HTTP status.
    pub status: u16,
    /// Whether the same request may be sent again.
    pub retryability: Retryability,
    /// Who must act.
    pub owner: Owner,
    /// Who may read the detail.
    pub visibility: Visibility,
    /// What an operator is told.
    pub guide: Guide,
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
