//! The operational work item that a person gets: enough to decide on, and nothing secret.

mod group;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod incident;
mod message;

pub use group::{Group, GroupKey, grouped};
pub use incident::{Cause, Incident, IncidentChange, IncidentId, Needs};
pub use message::{Message, redact};
