//! Operations and incidents as JSON shows them.

use std::fmt::Write as _;

use onefold_core::Timestamp;
use onefold_core::incident::{GroupKey, Incident, redact, redact_name};
use onefold_core::ledger::{Entry, Replay, StoredResult, TimelineEvent};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::names::{CategoryName, SideEffectName, SourceName, StatusName, SubjectName};

/// An operation, without its payload.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationView {
    /// The reference that is part of addresses.
    #[schema(example = "op_bm90aWNlAENBU0UtMQ")]
    pub(crate) operation: String,
    pub(crate) kind: String,
    pub(crate) id: String,
    /// Its state.
    #[schema(value_type = StatusName)]
    pub(crate) status: String,
    pub(crate) class: String,
    pub(crate) on_unknown: String,
    pub(crate) fence: u64,
    pub(crate) attempts: u32,
    /// Where the last attempt ran.
    pub(crate) worker: String,
    pub(crate) deadline: String,
    pub(crate) lease_until: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_attempt_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unknown_since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_ask_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) business_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) process_instance_key: Option<String>,
    /// How it came in.
    #[schema(value_type = SourceName)]
    pub(crate) source: String,
    /// Bytes of the recorded result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) evidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CategoryName>)]
    pub(crate) category: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dependency: Option<String>,
    /// What is known of the effect.
    #[schema(value_type = SideEffectName)]
    pub(crate) side_effect_status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) incident: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) completed_at: Option<String>,
}

impl From<&Entry> for OperationView {
    fn from(entry: &Entry) -> Self {
        let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            operation: entry.key.reference(),
            kind: entry.key.kind.to_string(),
            id: entry.key.id.to_string(),
            status: entry.status.to_string(),
            class: entry.contract.class().to_string(),
            on_unknown: entry.contract.policy().to_string(),
            fence: entry.fence,
            attempts: entry.attempts,
            worker: entry.worker.to_string(),
            deadline: entry.deadline.to_string(),
            lease_until: entry.lease_until.to_string(),
            next_attempt_at: time(entry.next_attempt_at),
            unknown_since: time(entry.unknown_since),
            next_ask_at: time(entry.next_ask_at),
            business_key: text(&entry.origin.business_key),
            correlation_id: text(&entry.origin.correlation_id),
            process_instance_key: text(&entry.origin.process_instance_key),
            source: entry.origin.source.to_string(),
            result_bytes: entry.result.as_ref().map(|result| match result {
                StoredResult::Kept { bytes, .. } | StoredResult::Damaged { bytes, .. } => bytes.len() as u64,
                StoredResult::Digest { bytes, .. } => *bytes,
            }),
            evidence: text(&entry.evidence_ref),
            error_code: entry.error_code.as_ref().map(ToString::to_string),
            category: entry.category.map(|category| category.to_string()),
            dependency: text(&entry.dependency),
            side_effect_status: entry.side_effect.to_string(),
            incident: entry.incident.as_ref().map(ToString::to_string),
            created_at: entry.created_at.to_string(),
            updated_at: entry.updated_at.to_string(),
            completed_at: time(entry.completed_at),
        }
    }
}

/// A part of a list, and where the next one begins.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct OperationPage {
    pub(crate) items: Vec<OperationView>,
    /// Send this as `after` for the next part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<i64>,
}

/// The story of an operation, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Timeline {
    pub(crate) operation: OperationView,
    pub(crate) events: Vec<TimelineLine>,
}

/// One line of the story.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct TimelineLine {
    pub(crate) at: String,
    pub(crate) fence: u64,
    pub(crate) who: String,
    pub(crate) what: String,
}

impl From<TimelineEvent> for TimelineLine {
    fn from(event: TimelineEvent) -> Self {
        Self { at: event.at.to_string(), fence: event.fence, who: redact_name(&event.who), what: event.what }
    }
}

/// The recorded outcome, as a duplicate is answered with it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutcomeView {
    /// `COMPLETED` or `FAILED_FINAL`.
    #[schema(example = "COMPLETED")]
    status: &'static str,
    /// What was recorded, byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// Why there is no result, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_not_kept: Option<ResultNotKept>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CategoryName>)]
    category: Option<&'static str>,
    completed_at: String,
}

/// What is left of a result that was too large or past its retention.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResultNotKept {
    bytes: u64,
    /// The first half of its SHA-256, in hexadecimal.
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

impl From<Replay> for OutcomeView {
    fn from(replay: Replay) -> Self {
        let (result, result_not_kept) = replay.result.map_or((None, None), shown);
        Self {
            status: replay.status.as_str(),
            result,
            result_not_kept,
            evidence: replay.evidence.as_deref().map(str::to_owned),
            code: replay.error_code.map(|code| code.to_string()),
            category: replay.category.map(onefold_core::retry::Category::as_str),
            completed_at: replay.completed_at.to_string(),
        }
    }
}

/// A stored result as JSON, or what is left of it. Bytes that are not the recorded ones are never shown as the result.
pub(crate) fn shown(result: StoredResult) -> (Option<Box<RawValue>>, Option<ResultNotKept>) {
    match result {
        StoredResult::Kept { bytes, .. } => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // What another boundary stored may be no JSON; then it is shown as a text.
            let raw = RawValue::from_string(text.clone())
                .or_else(|_| RawValue::from_string(serde_json::Value::String(text).to_string()));
            (raw.ok(), None)
        }
        StoredResult::Damaged { bytes, digest, .. } => {
            let digest = hexadecimal(&digest.0);
            (None, Some(ResultNotKept { bytes: bytes.len() as u64, digest, reference: None }))
        }
        StoredResult::Digest { bytes, digest, reference, .. } => {
            let digest = hexadecimal(&digest.0);
            (None, Some(ResultNotKept { bytes, digest, reference: reference.as_deref().map(str::to_owned) }))
        }
    }
}

/// Bytes as people compare them.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A recorded result.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultView {
    pub(crate) operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result_not_kept: Option<ResultNotKept>,
}

/// A part of the incidents, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct IncidentPage {
    #[schema(value_type = Vec<IncidentSchema>)]
    pub(crate) items: Vec<IncidentView>,
    /// Send this as `after` for the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<i64>,
}

/// Open incidents by cause, the largest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Groups {
    #[schema(value_type = Vec<GroupSchema>)]
    pub(crate) groups: Vec<GroupView>,
}

/// An incident, with what a person needs first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IncidentView {
    #[serde(flatten)]
    incident: Incident,
    /// The reference that is part of the operation's addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    /// Since it was first seen; until it was closed.
    age_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Vec<TimelineLine>>,
}

impl IncidentView {
    /// The incident with advice for its operation's current state.
    pub(crate) fn new(incident: Incident, entry: Option<&Entry>, now: Timestamp) -> Self {
        let incident = match entry {
            Some(entry) => incident.advised(entry),
            None => incident,
        };
        let operation = incident.operation_key().map(|key| key.reference());
        let age = incident.closed_at.unwrap_or(now).since(incident.first_seen);
        Self { operation, age_seconds: age.as_secs(), timeline: None, incident }
    }

    /// The same with the operation's story; names and texts pass the redaction of incidents.
    pub(crate) fn with_timeline(mut self, events: Vec<TimelineEvent>) -> Self {
        let shown = |event: TimelineEvent| {
            let line = TimelineLine::from(event);
            TimelineLine { what: redact(&line.what), ..line }
        };
        self.timeline = Some(events.into_iter().map(shown).collect());
        self
    }
}

/// Incidents of one cause.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupView {
    pub(crate) key: GroupKey,
    pub(crate) head: IncidentView,
    pub(crate) incidents: u64,
    pub(crate) first_seen: Timestamp,
    pub(crate) last_seen: Timestamp,
}

/// A work item for a person: `docs/incidents.md` explains each field.
#[derive(Debug, ToSchema)]
#[schema(as = Incident, rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes core's incident, which knows nothing of schemas")]
pub(crate) struct IncidentSchema {
    #[schema(example = "inc_6mAbX0lSYsJ0sKQz")]
    id: String,
    tenant: String,
    /// What it is about.
    #[schema(value_type = SubjectName)]
    subject: String,
    /// The operation's kind, or the name of the relay, consumer, job type, dependency or engine.
    kind: String,
    /// Where it is about an operation.
    operation_id: Option<String>,
    /// Where it is about anything else.
    subject_id: Option<String>,
    fence: u64,
    process_id: Option<String>,
    definition_key: Option<String>,
    definition_version: Option<String>,
    process_instance_key: Option<String>,
    element_id: Option<String>,
    job_key: Option<String>,
    business_key: Option<String>,
    correlation_id: Option<String>,
    #[schema(value_type = CategoryName)]
    category: String,
    error_code: String,
    dependency: Option<String>,
    /// What is known of the effect of an operation.
    #[schema(value_type = Option<SideEffectName>)]
    side_effect_status: Option<String>,
    attempts: u32,
    attempts_ended_because: String,
    /// Whether `retry` is allowed and cannot harm.
    safe_to_retry: bool,
    needs: String,
    /// What to look at first, by the operation's current state.
    first_check: String,
    /// What to do then.
    suggested_action: String,
    /// The page that says more, at this server.
    #[schema(example = "/runbooks/unknown-outcome")]
    runbook: String,
    message: String,
    worker: String,
    last_alive_at: String,
    causes: Vec<CauseSchema>,
    group: String,
    count: u64,
    first_seen: String,
    last_seen: String,
    closed_at: Option<String>,
    closed_by: Option<String>,
    /// The reference that is part of the operation's addresses.
    #[schema(example = "op_bm90aWNlAENBU0UtMQ")]
    operation: Option<String>,
    /// Since it was first seen; until it was closed.
    age_seconds: u64,
    /// The operation's story, oldest first; only where one incident is asked for.
    timeline: Option<Vec<TimelineLine>>,
}

/// One reason why an incident exists.
#[derive(Debug, ToSchema)]
#[schema(as = Cause, rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes core's cause, which knows nothing of schemas")]
pub(crate) struct CauseSchema {
    code: String,
    count: u64,
    last_seen: String,
}

/// Incidents of one cause.
#[derive(Debug, ToSchema)]
#[schema(as = IncidentGroup, rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes core's group, which knows nothing of schemas")]
pub(crate) struct GroupSchema {
    key: String,
    head: IncidentSchema,
    /// How many there are, one a subject.
    incidents: u64,
    first_seen: String,
    last_seen: String,
}
