//! The operational work item that a person gets: enough to decide on, and nothing secret.

mod about_subject;
mod advice;
mod announce;
mod group;
mod id;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod incident;
mod message;
mod outage;
mod outbox;
mod subject;

pub use advice::{Advice, RUNBOOKS, advise, runbook_page};
pub use announce::{ANNOUNCED_MAX, by_cause};
pub use group::{Group, GroupKey, grouped};
pub use id::IncidentId;
pub use incident::{Cause, Incident, IncidentChange, Needs};
pub use message::{Message, redact, redact_name};
pub use outage::{CallHistory, OutageDecision, OutageState, UNAVAILABLE_FOR, decide_outage};
pub use subject::{Subject, SubjectSort};
