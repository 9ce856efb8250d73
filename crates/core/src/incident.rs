//! The operational work item that a person gets: enough to decide on, and nothing secret.

mod advice;
mod announce;
mod group;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod incident;
mod message;

pub use advice::{Advice, RUNBOOKS, advise, runbook_page};
pub use announce::{ANNOUNCED_MAX, by_cause};
pub use group::{Group, GroupKey, grouped};
pub use incident::{Cause, Incident, IncidentChange, IncidentId, Needs};
pub use message::{Message, redact, redact_name};
