//! Incidents that are not about an operation: the watcher of the subject opens and closes them.

use super::BoxFuture;
use crate::error::Result;
use crate::incident::{IncidentChange, Subject};
use crate::operation::Tenant;

/// What becomes of the incident of one subject.
#[derive(Debug, Clone)]
pub struct SubjectChange {
    /// For whom.
    pub tenant: Tenant,
    /// What the incident is about.
    pub subject: Subject,
    /// What happens to it.
    pub change: IncidentChange,
}

/// Opens, counts up and closes incidents.
pub trait IncidentWrite: Send + Sync {
    /// Applies every change to the open incident of its subject, in one commit. Processes that open the incident of one
    /// subject at once open one; closing where none is open changes nothing.
    fn change_incidents(&self, changes: Vec<SubjectChange>) -> BoxFuture<'_, Result<()>>;
}
