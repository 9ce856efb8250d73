//! One failure, many projections: total functions of the class, which a code may override with a reason.

mod job;
mod log;
mod problem;
mod runbook;
mod verdict;

pub use job::{BpmnCode, JobAnswer};
pub use log::Level;
pub use problem::{Problem, ProblemContext, Severity, Violation};
pub use runbook::{registry_json, review, runbook};
pub use verdict::Verdict;
