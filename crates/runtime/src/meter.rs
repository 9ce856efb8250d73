//! The metrics of the runtime, each named once. Labels come from closed sets: no id is ever a label.

use std::time::Duration;

use metrics::{counter, gauge, histogram};
use onefold_core::error::{ALL, Code, CodeName};
use onefold_core::ledger::{Claim, OnceDecision, Outcome, Source};
use onefold_core::operation::KindName;
use onefold_core::outbox::RelayName;
use onefold_core::port::{OnceEntry, Step, StepAnswer};
use onefold_core::{Error, Result};

use crate::dependency::Position;

/// A page went to its target and was answered.
pub(crate) fn page_sent(relay: &RelayName, took: Duration) {
    histogram!("onefold_publish_seconds", "relay" => relay.to_string()).record(took.as_secs_f64());
}

/// Events were published.
pub(crate) fn published(relay: &RelayName, count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    counter!("onefold_outbox_published_total", "relay" => relay.to_string()).increment(count);
}

/// Events were sent again.
pub(crate) fn outbox_replayed(relay: &RelayName, count: u64) {
    counter!("onefold_outbox_replayed_total", "relay" => relay.to_string()).increment(count);
}

/// An event was not taken when it was sent again.
pub(crate) fn replay_refused(relay: &RelayName, code: Code) {
    counter!("onefold_outbox_replay_refused_total", "relay" => relay.to_string(), "error_code" => code.as_str())
        .increment(1);
}

/// An event, or a page, was not published.
pub(crate) fn publish_failed(relay: &RelayName, code: Code, retryable: &'static str) {
    counter!("onefold_outbox_publish_failures_total", "relay" => relay.to_string(), "error_code" => code.as_str(), "retryable" => retryable)
        .increment(1);
}

/// A batch was committed, or was not.
pub(crate) fn batch(store: &'static str, size: usize, took: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "a batch has at most some hundred steps")]
    histogram!("onefold_batch_size", "store" => store).record(size as f64);
    histogram!("onefold_commit_seconds", "store" => store).record(took.as_secs_f64());
}

/// Steps were answered: what is counted alike is counted at once.
pub(crate) fn answered(steps: &[Step], answers: &[Result<StepAnswer>]) {
    let mut claims: Vec<(ClaimLabels<'_>, u64)> = Vec::new();
    for (step, answer) in steps.iter().zip(answers) {
        match (step, answer) {
            (Step::Claim(request), Ok(StepAnswer::Claim(claim))) => {
                let labels = ClaimLabels::of(&request.key.kind, request.origin.source, claim);
                match claims.iter_mut().find(|(counted, _)| *counted == labels) {
                    Some((_, times)) => *times += 1,
                    None => claims.push((labels, 1)),
                }
            }
            (Step::Record(request), Ok(StepAnswer::Record(_))) => recorded(&request.key.kind, &request.outcome),
            _ => {}
        }
    }
    for (labels, times) in claims {
        labels.count(times);
    }
}

/// What a claim is counted under.
#[derive(PartialEq)]
struct ClaimLabels<'a> {
    kind: &'a KindName,
    boundary: Source,
    answer: &'static str,
    /// Whether there was such an operation.
    known: bool,
}

impl<'a> ClaimLabels<'a> {
    fn of(kind: &'a KindName, boundary: Source, claim: &Claim) -> Self {
        let (answer, known) = match claim {
            Claim::Granted(lease) => ("granted", lease.fence > 1),
            Claim::Replay(_) => ("replay", true),
            Claim::InFlight { .. } => ("in_flight", true),
            Claim::Conflict => ("conflict", true),
            Claim::Unknown { .. } => ("unknown", true),
            Claim::Waiting { .. } => ("waiting", true),
        };
        Self { kind, boundary, answer, known }
    }

    fn count(&self, times: u64) {
        let kind = self.kind.to_string();
        counter!("onefold_claims_total", "kind" => kind.clone(), "answer" => self.answer).increment(times);
        let name = if self.known { "onefold_dedup_hits_total" } else { "onefold_dedup_misses_total" };
        counter!(name, "boundary" => self.boundary.as_str(), "kind" => kind).increment(times);
    }
}

/// A transaction entered an operation: the same counts as those of a claim.
pub(crate) fn entered(kind: &KindName, source: Source, entered: &OnceEntry) {
    match entered {
        OnceEntry::Once(OnceDecision::Perform) => count_claim(kind, source, "granted", false),
        OnceEntry::Once(OnceDecision::Replay(_)) => replayed(source, kind),
        OnceEntry::Once(OnceDecision::Conflict) => conflicted(source, kind),
        OnceEntry::InFlight { .. } => count_claim(kind, source, "in_flight", true),
    }
}

/// A duplicate was answered from the ledger before anyone claimed it.
pub fn replayed(boundary: Source, kind: &KindName) {
    count_claim(kind, boundary, "replay", true);
}

/// An id was used for another request, which was seen before anyone claimed it.
pub fn conflicted(boundary: Source, kind: &KindName) {
    count_claim(kind, boundary, "conflict", true);
}

fn count_claim(kind: &KindName, boundary: Source, answer: &'static str, known: bool) {
    ClaimLabels { kind, boundary, answer, known }.count(1);
}

fn recorded(kind: &KindName, outcome: &Outcome) {
    let Some(failure) = outcome.failure() else { return };
    let retryable = matches!(outcome, Outcome::FailedRetryable(_));
    counter!(
        "onefold_application_errors_total",
        "kind" => kind.to_string(),
        "error_code" => code_label(&failure.code),
        "retryable" => if retryable { "true" } else { "false" },
    )
    .increment(1);
}

/// A registered code; a caller's own code is `other`, because callers are many and labels must be few.
fn code_label(code: &CodeName) -> &'static str {
    ALL.iter().find(|known| *code == **known).map_or("other", |known| known.as_str())
}

/// What the store was doing when it refused or failed; labels `onefold_store_errors_total`.
pub(crate) fn operation_label(steps: &[Step]) -> &'static str {
    let label = |step: &Step| match step {
        Step::Claim(_) => "claim",
        Step::Record(_) => "record",
        Step::Renew(_) => "renew",
        Step::Release(_) => "release",
    };
    match steps {
        [first, rest @ ..] if rest.iter().all(|step| label(step) == label(first)) => label(first),
        [] | [_, ..] => "batch",
    }
}

/// Constraints of the ledger's own tables, as both stores know them; any other is `other`.
const CONSTRAINTS: &[(&str, &str)] = &[
    ("onefold_operations_key", "onefold_operations.operation_id"),
    ("onefold_operations_seq", "onefold_operations.seq"),
    ("onefold_operations_operation_id_check", "length(CAST(operation_id AS BLOB)) BETWEEN 1 AND 1024"),
    ("onefold_operations_fence_check", "fence > 0"),
    ("onefold_operations_unknown_check", "onefold_operations_unknown_check"),
    ("onefold_attempts_pkey", "onefold_attempts.tenant"),
    ("onefold_incidents_id_key", "onefold_incidents.id"),
    ("onefold_incidents_one_open", "onefold_incidents.tenant"),
    ("onefold_kinds_pkey", "onefold_kinds.kind"),
    ("onefold_tokens_pkey", "onefold_tokens.name"),
];

/// A constraint's name, from a closed set: PostgreSQL names it, SQLite names its first column or its rule.
fn constraint_label(constraint: Option<&str>) -> &'static str {
    let Some(broken) = constraint else { return "none" };
    let first = broken.split(", ").next().unwrap_or(broken);
    let known = CONSTRAINTS.iter().find(|(name, sqlite)| *name == broken || *sqlite == first);
    known.map_or("other", |(name, _)| name)
}

/// The store refused or failed.
pub(crate) fn store_error(operation: &'static str, error: &Error) {
    counter!(
        "onefold_store_errors_total",
        "operation" => operation,
        "sql_state" => error.native().unwrap_or("none"),
        "constraint" => constraint_label(error.constraint()),
    )
    .increment(1);
}

/// The clock was ahead of what is confirmed when retention was to be applied.
pub(crate) fn clock_jumped() {
    counter!("onefold_clock_jumps_total").increment(1);
}

/// An attempt took this long from its grant to its record.
pub fn processed(boundary: Source, kind: &KindName, took: Duration) {
    histogram!("onefold_processing_seconds", "boundary" => boundary.as_str(), "kind" => kind.to_string())
        .record(took.as_secs_f64());
}

/// The state of a dependency's breaker.
pub(crate) fn breaker(dependency: &str, position: Position) {
    let value = match position {
        Position::Closed => 0.0,
        Position::HalfOpen => 1.0,
        Position::Open => 2.0,
    };
    gauge!("onefold_breaker_state", "dependency" => dependency.to_owned()).set(value);
}

/// A dependency's limits refused a call.
pub(crate) fn dependency_refused(dependency: &str, because: &'static str) {
    counter!("onefold_dependency_refusals_total", "dependency" => dependency.to_owned(), "because" => because)
        .increment(1);
}

/// A call to a dependency is in flight.
pub(crate) fn dependency_call_began(dependency: &str) {
    gauge!("onefold_dependency_calls", "dependency" => dependency.to_owned()).increment(1.0);
}

/// A call to a dependency is over.
pub(crate) fn dependency_call_ended(dependency: &str) {
    gauge!("onefold_dependency_calls", "dependency" => dependency.to_owned()).decrement(1.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constraint_label_is_a_name_of_ours_or_other() {
        let rows = [
            (None, "none"),
            (Some("onefold_operations_key"), "onefold_operations_key"),
            (
                Some("onefold_operations.operation_id, onefold_operations.kind, onefold_operations.tenant"),
                "onefold_operations_key",
            ),
            (Some("fence > 0"), "onefold_operations_fence_check"),
            (Some("cases_reference"), "other"),
            (Some("ada@example.com"), "other"),
        ];
        for (constraint, label) in rows {
            assert_eq!(constraint_label(constraint), label, "{constraint:?}");
        }
    }
}
