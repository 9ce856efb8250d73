//! An incident and its life: opened with a cause, joined by others, closed by evidence or a person.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::advice::{Advice, advise};
use super::group::GroupKey;
use super::id::IncidentId;
use super::message::{Message, redact_name};
use super::subject::Subject;
use crate::error::{COMMAND_FAILED, COMMAND_KILLED, Code, CodeName, DUPLICATE_SUSPECTED, OUTCOME_CONFLICT};
use crate::ledger::{Entry, Failure, Outcome, PastAttempt, SideEffect, Status};
use crate::operation::{OperationKey, Tenant};
use crate::retry::{Category, RetryEnd};
use crate::time::Timestamp;

crate::ledger::named! {
    /// What must happen besides a decision.
    Needs {
        /// Nothing else.
        Nothing = "NOTHING",
        /// Somebody finds out what happened.
        Reconciliation = "RECONCILIATION",
        /// Data must be repaired; the failed attempt says so.
        DataRepair = "DATA_REPAIR",
        /// Process instances must be migrated; the failed attempt says so.
        ProcessMigration = "PROCESS_MIGRATION",
        /// A deployment or a declaration must be fixed.
        DeploymentFix = "DEPLOYMENT_FIX",
    }
}

/// One reason why the incident exists, and how often it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    pub code: CodeName,
    pub count: u64,
    pub last_seen: Timestamp,
}

/// A work item. No field holds a payload or a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of docs/incidents.md")]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    pub id: IncidentId,
    pub tenant: Tenant,
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// The grant of an operation; 0 for any other subject.
    pub fence: u64,
    pub process_id: Option<Arc<str>>,
    pub definition_key: Option<Arc<str>>,
    pub definition_version: Option<Arc<str>>,
    pub process_instance_key: Option<Arc<str>>,
    pub element_id: Option<Arc<str>>,
    pub job_key: Option<Arc<str>>,
    pub business_key: Option<Arc<str>>,
    pub correlation_id: Option<Arc<str>>,
    pub category: Category,
    pub error_code: CodeName,
    pub dependency: Option<Arc<str>>,
    /// What is known of the effect; none where it is not about an operation.
    pub side_effect_status: Option<SideEffect>,
    pub attempts: u32,
    /// Why no further attempt is made.
    pub attempts_ended_because: Arc<str>,
    pub safe_to_retry: bool,
    pub needs: Needs,
    /// What to look at first.
    pub first_check: Arc<str>,
    /// What to do then.
    pub suggested_action: Arc<str>,
    pub runbook: Arc<str>,
    pub message: Message,
    /// Where the last attempt ran.
    pub worker: Arc<str>,
    /// When it was last heard of.
    pub last_alive_at: Timestamp,
    pub causes: Vec<Cause>,
    pub group: GroupKey,
    pub count: u64,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub closed_by: Option<Arc<str>>,
}

/// What a decision does to an operation's incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentChange(Change);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Raise(Box<Incident>),
    Close { by: Arc<str>, at: Timestamp, person: bool },
}

impl IncidentChange {
    pub(crate) fn raise(incident: Incident) -> Self {
        Self(Change::Raise(Box::new(incident)))
    }

    /// Closes it: what happened is known, or what was away answers again.
    pub fn close_by_evidence(at: Timestamp) -> Self {
        Self(Change::Close { by: Arc::from("evidence"), at, person: false })
    }

    pub(crate) fn close_by_person(who: &Arc<str>, at: Timestamp) -> Self {
        Self(Change::Close { by: Arc::clone(who), at, person: true })
    }

    /// The incident to write, given the one that is open: one open incident per subject.
    pub fn apply(self, open: Option<Incident>) -> Option<Incident> {
        match (self.0, open) {
            (Change::Raise(new), Some(open)) => Some(open.joined_by(&new)),
            (Change::Raise(new), None) => Some(*new),
            (Change::Close { by, at, person }, Some(open)) => Some(open.closed(by, at, person)),
            (Change::Close { .. }, None) => None,
        }
    }
}

/// What an incident is made of, beside the entry.
struct Facts<'a> {
    code: Code,
    category: Category,
    why: &'a str,
    needs: Needs,
    says: String,
    last_alive_at: Timestamp,
}

impl Incident {
    /// The operation that it is about; none where it is about something else.
    pub fn operation_key(&self) -> Option<OperationKey> {
        self.subject.operation_key(&self.tenant)
    }

    /// Whether a person still has to look.
    pub fn is_open(&self) -> bool {
        self.closed_at.is_none()
    }

    /// It is unknown whether it took hold: why that is not repeated, and what the attempt itself said.
    pub(crate) fn of_unknown(
        entry: &Entry,
        before: &Entry,
        needs: Needs,
        (why, detail): (&str, Option<&str>),
        now: Timestamp,
    ) -> Self {
        let category = entry.category.unwrap_or(Category::HolderLost);
        let code = command_code(entry).unwrap_or(category.code());
        let detail = said(code, detail);
        let says = format!(
            "attempt {} of {} on {} ended without a known outcome{detail}; it was last alive {}; {why}",
            entry.attempts, entry.key.kind, entry.worker, before.updated_at
        );
        let facts = Facts { code, category, why, needs, says, last_alive_at: before.updated_at };
        Self::build(entry, &facts, now)
    }

    /// Retrying is over and nothing took hold.
    pub(crate) fn of_exhausted(entry: &Entry, why: RetryEnd, now: Timestamp) -> Self {
        let category = entry.category.unwrap_or(Category::Unexpected);
        let code = entry.error_code.as_ref().map_or("no code", CodeName::as_str);
        let says = format!(
            "attempt {} of {} ended with {code}; nothing took hold; {}",
            entry.attempts,
            entry.key.kind,
            why.as_str()
        );
        let exhausted = why != RetryEnd::NeverRetried;
        let facts = Facts {
            code: if exhausted { Category::AttemptsExhausted.code() } else { category.code() },
            category: if exhausted { Category::AttemptsExhausted } else { category },
            why: why.as_str(),
            needs: needs_of(category),
            says,
            last_alive_at: entry.updated_at,
        };
        Self::build(entry, &facts, now)
    }

    /// The attempt ended for good with a technical failure.
    pub(crate) fn of_failure(entry: &Entry, failure: &Failure, now: Timestamp) -> Self {
        let category = failure.category.unwrap_or(Category::Unexpected);
        let detail = said(category.code(), failure.detail.as_deref());
        let says = format!("attempt {} of {} ended with {}{detail}", entry.attempts, entry.key.kind, failure.code);
        let facts = Facts {
            code: category.code(),
            category,
            why: "the failure is final",
            needs: failure.needs.unwrap_or(needs_of(category)),
            says,
            last_alive_at: entry.updated_at,
        };
        Self::build(entry, &facts, now)
    }

    /// An attempt reported an effect after another had been granted.
    pub(crate) fn of_duplicate(entry: &Entry, late: &PastAttempt, now: Timestamp) -> Self {
        let says = format!(
            "the attempt with fence {} on {} reports that it took hold after fence {} had been granted; there may be two effects",
            late.fence, late.worker, entry.fence
        );
        let facts = Facts {
            code: DUPLICATE_SUSPECTED,
            category: Category::DuplicateSuspected,
            why: "a second effect is suspected",
            needs: Needs::Reconciliation,
            says,
            last_alive_at: now,
        };
        Self::build(entry, &facts, now)
    }

    /// One attempt said two things, or contradicts what was decided since.
    pub(crate) fn of_contradiction(entry: &Entry, stood: Status, outcome: &Outcome, now: Timestamp) -> Self {
        let says = format!(
            "the attempt with fence {} on {} reports {}{}, but the operation was already {stood} by an earlier report or decision",
            entry.fence,
            entry.worker,
            outcome.status(),
            if outcome.status() == stood { " with other evidence or another result" } else { "" },
        );
        let facts = Facts {
            code: OUTCOME_CONFLICT,
            category: Category::DuplicateSuspected,
            why: "two reports contradict each other",
            needs: Needs::Reconciliation,
            says,
            last_alive_at: now,
        };
        Self::build(entry, &facts, now)
    }

    fn build(entry: &Entry, facts: &Facts<'_>, now: Timestamp) -> Self {
        let code = facts.code.name();
        let guide = &facts.code.descriptor().guide;
        let message = Message::new(facts.code, &facts.says).unwrap_or_else(|| Message::stored(guide.summary));
        let entry = &shown(entry);
        let Advice { first_check, suggested_action, safe_to_retry, runbook } = advise(entry, &code, facts.needs);
        Self {
            id: entry.incident.clone().unwrap_or_else(|| {
                IncidentId::of(&Subject::operation(&entry.key), &entry.key.tenant, entry.fence, now)
            }),
            tenant: entry.key.tenant.clone(),
            subject: Subject::operation(&entry.key),
            fence: entry.fence,
            process_id: entry.origin.process_id.clone(),
            definition_key: entry.origin.definition_key.clone(),
            definition_version: entry.origin.definition_version.clone(),
            process_instance_key: entry.origin.process_instance_key.clone(),
            element_id: entry.origin.element_id.clone(),
            job_key: entry.origin.job_key.clone(),
            business_key: entry.origin.business_key.clone(),
            correlation_id: entry.origin.correlation_id.clone(),
            category: facts.category,
            error_code: code.clone(),
            dependency: entry.dependency.clone(),
            side_effect_status: Some(entry.side_effect),
            attempts: entry.attempts,
            attempts_ended_because: Arc::from(facts.why),
            safe_to_retry,
            needs: facts.needs,
            first_check,
            suggested_action,
            runbook: Arc::from(format!("/runbooks/{runbook}")),
            message,
            worker: Arc::clone(&entry.worker),
            last_alive_at: facts.last_alive_at,
            causes: vec![Cause { code, count: 1, last_seen: now }],
            group: GroupKey::of(entry.key.kind.as_str(), entry.dependency.as_deref(), facts.code, &entry.worker),
            count: 1,
            first_seen: now,
            last_seen: now,
            closed_at: None,
            closed_by: None,
        }
    }

    /// The same with advice for its operation's current state; a closed one is left as it was.
    #[must_use]
    pub fn advised(self, entry: &Entry) -> Self {
        if !self.is_open() || entry.fence < self.fence {
            return self;
        }
        let advice = advise(&shown(entry), &self.error_code, self.needs);
        Self {
            safe_to_retry: advice.safe_to_retry,
            first_check: advice.first_check,
            suggested_action: advice.suggested_action,
            runbook: Arc::from(format!("/runbooks/{}", advice.runbook)),
            ..self
        }
    }

    /// The open incident after another cause or a repetition; the gravest code heads it.
    fn joined_by(mut self, new: &Self) -> Self {
        let mut causes = std::mem::take(&mut self.causes);
        for cause in &new.causes {
            match causes.iter_mut().find(|known| known.code == cause.code) {
                Some(known) => {
                    known.count += cause.count;
                    known.last_seen = known.last_seen.max(cause.last_seen);
                }
                None => causes.push(cause.clone()),
            }
        }
        let heads = if gravity(&new.error_code) > gravity(&self.error_code) { new.clone() } else { self.clone() };
        Self {
            id: self.id,
            causes,
            count: self.count + 1,
            first_seen: self.first_seen,
            last_seen: new.last_seen.max(self.last_seen),
            attempts: new.attempts.max(self.attempts),
            fence: new.fence.max(self.fence),
            side_effect_status: new.side_effect_status,
            ..heads
        }
    }

    fn closed(mut self, by: Arc<str>, at: Timestamp, person: bool) -> Self {
        // Evidence answers an open question; it does not answer a suspicion.
        let suspicion = self.causes.iter().any(|cause| gravity(&cause.code) > 0);
        if person || !suspicion {
            self.closed_at = Some(at);
            self.closed_by = Some(by);
        }
        self
    }
}

/// The entry as it may be shown: names that callers chose freely hold neither a secret nor a payload.
fn shown(entry: &Entry) -> Entry {
    let name = |text: &Arc<str>| Arc::from(redact_name(text));
    let mut shown = entry.clone();
    shown.worker = name(&entry.worker);
    shown.dependency = entry.dependency.as_ref().map(name);
    let origin = &mut shown.origin;
    for text in [
        &mut origin.business_key,
        &mut origin.process_id,
        &mut origin.definition_key,
        &mut origin.definition_version,
        &mut origin.process_instance_key,
        &mut origin.element_id,
        &mut origin.job_key,
        &mut origin.correlation_id,
    ] {
        *text = text.as_ref().map(name);
    }
    shown
}

/// What an attempt said, redacted, as the end of a sentence; nothing where it says nothing.
fn said(code: Code, detail: Option<&str>) -> String {
    let message = detail.and_then(|text| Message::new(code, text));
    message.map(|text| format!(": {text}")).unwrap_or_default()
}

/// The code of a command that `onefold run` ran: it says more than the category, which knows nothing of commands.
fn command_code(entry: &Entry) -> Option<Code> {
    let said = entry.error_code.as_ref()?;
    [COMMAND_FAILED, COMMAND_KILLED].into_iter().find(|code| *said == *code)
}

fn gravity(code: &CodeName) -> u8 {
    if *code == DUPLICATE_SUSPECTED { 2 } else { u8::from(*code == OUTCOME_CONFLICT) }
}

fn needs_of(category: Category) -> Needs {
    match category {
        Category::InvalidWorkerContract | Category::Permission => Needs::DeploymentFix,
        Category::HolderLost | Category::DuplicateSuspected => Needs::Reconciliation,
        Category::DownstreamUnavailable
        | Category::DownstreamTimeout
        | Category::RateLimited
        | Category::Maintenance
        | Category::Contention
        | Category::StoreUnavailable
        | Category::AttemptsExhausted
        | Category::CommandKilled
        | Category::Unexpected => Needs::Nothing,
    }
}
