//! The incident of something that is not an operation.

use std::sync::Arc;

use super::GroupKey;
use super::id::IncidentId;
use super::incident::{Cause, Incident, Needs};
use super::message::{Message, redact_name};
use super::subject::Subject;
use crate::error::Code;
use crate::operation::Tenant;
use crate::retry::Category;
use crate::time::Timestamp;

/// What is known of it.
pub(super) struct SubjectFacts<'a> {
    pub(super) subject: Subject,
    pub(super) tenant: Tenant,
    pub(super) code: Code,
    pub(super) category: Category,
    /// What happened, in a sentence.
    pub(super) says: String,
    /// Why nothing more is tried.
    pub(super) because: String,
    pub(super) attempts: u32,
    pub(super) first_check: String,
    pub(super) suggested_action: String,
    pub(super) runbook: &'static str,
    /// The system outside that it depends on.
    pub(super) dependency: Option<&'a str>,
    /// Where it was seen.
    pub(super) worker: &'a str,
    pub(super) now: Timestamp,
}

impl SubjectFacts<'_> {
    pub(super) fn incident(self) -> Incident {
        let Self { subject, tenant, code, now, .. } = self;
        Incident {
            id: IncidentId::of(&subject, &tenant, 0, now),
            tenant,
            fence: 0,
            process_id: None,
            definition_key: None,
            definition_version: None,
            process_instance_key: None,
            element_id: None,
            job_key: None,
            business_key: None,
            correlation_id: None,
            category: self.category,
            error_code: code.name(),
            dependency: self.dependency.map(Arc::from),
            side_effect_status: None,
            attempts: self.attempts,
            attempts_ended_because: Arc::from(self.because),
            safe_to_retry: false,
            needs: Needs::Nothing,
            first_check: Arc::from(self.first_check),
            suggested_action: Arc::from(self.suggested_action),
            runbook: Arc::from(self.runbook),
            message: Message::new(code, &self.says).unwrap_or_else(|| Message::stored(code.descriptor().guide.summary)),
            worker: Arc::from(redact_name(self.worker)),
            last_alive_at: now,
            causes: vec![Cause { code: code.name(), count: 1, last_seen: now }],
            group: GroupKey::of_subject(&subject, code),
            count: 1,
            first_seen: now,
            last_seen: now,
            closed_at: None,
            closed_by: None,
            subject,
        }
    }
}
