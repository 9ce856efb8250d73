//! 000 §8.1, §8.2; 004 §2, §12, §14.1, §19.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::call::{CallMeaning, CallOutcome, Promises, Sent, judge};
use onefold_core::effect::{EffectClass, EffectContract, KindSpec, Policy};
use onefold_core::error::{
    AUTHORIZATION_DENIED, BpmnCode, CAMUNDA_COMMAND_FAILED, Code, DATABASE_UNAVAILABLE, DB_DEADLOCK_RETRYABLE,
    DOWNSTREAM_REJECTED, DOWNSTREAM_TIMEOUT, EVENT_CONTRACT_INVALID, EVENT_VERSION_UNSUPPORTED, EVIDENCE_REQUIRED,
    INTERNAL_ERROR, INVALID_WORKER_CONTRACT, JobAnswer, Level, MESSAGE_NOT_CORRELATED, OPERATION_CONFLICT,
    OPERATION_NOT_FOUND, OPTIMISTIC_LOCK_CONFLICT, Owner, REQUEST_BODY_INVALID, RESULT_NOT_KEPT, UNEXPECTED, Verdict,
};
use onefold_core::fingerprint::{FingerprintInput, FingerprintKey, KeyId, Keyring, Mode};
use onefold_core::incident::{Incident, Needs};
use onefold_core::ledger::{
    AttemptId, ClaimRequest, Entry, Failure, Holder, Origin, Outcome, RecordRequest, SideEffect, Source, Status,
    decide, record,
};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::retry::{Category, FailedAttempt, Jitter, NextRetry, RetryEnd, RetryTable};

use crate::rows::{differs, hold, row};

const UNKNOWN_NOT_FAILED: &str = "0001-where-we-differ-from-the-source-texts.md";

/// The wait after the `used`-th failure of a category; none when retrying is over.
fn wait(category: Category, used: u32, retry_after: Option<Duration>) -> Option<Duration> {
    let now = Timestamp::from_micros(0);
    let failure = FailedAttempt { category, used, retry_after, first_attempt_at: now, now, jitter: Jitter(0) };
    match RetryTable::default().next(&failure) {
        NextRetry::At(at) => Some(at.since(now)),
        NextRetry::Over(_) => None,
    }
}

/// What the ledger makes of an attempt whose call ended so: the incident it opens, and that nothing is tried again.
fn incident(category: Category, happened: CallOutcome) -> &'static str {
    let failure = Failure::technical(category, SideEffect::NotApplied).detailed("field `amount` is missing");
    let broken = matches!(judge(happened, Sent::Something, &Promises::default()), CallMeaning::Broken(_));
    let outcome = if broken { Outcome::FailedFinal(failure) } else { Outcome::FailedRetryable(failure) };
    let (entry, opened) = recorded(outcome);
    let Some(incident) = opened else { return "no incident" };
    let details = (&*incident.worker, incident.side_effect_status, incident.safe_to_retry, incident.needs);
    assert_eq!(details, ("worker-1", Some(SideEffect::NotApplied), true, Needs::DeploymentFix));
    let said = incident.message.as_str();
    assert!(said.contains("missing") || !broken, "{said}");
    match (entry.status, entry.next_attempt_at, incident.error_code.as_str()) {
        (Status::FailedFinal, None, "INVALID_WORKER_CONTRACT") => "incident INVALID_WORKER_CONTRACT, never retried",
        (Status::FailedFinal, None, "PERMISSION") => "incident PERMISSION, never retried",
        _ => "something else",
    }
}

/// An operation after its first attempt reported this, and the incident that was opened.
#[expect(clippy::expect_used, reason = "a case that cannot be built fails its test")]
fn recorded(outcome: Outcome) -> (Entry, Option<Incident>) {
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let contract = EffectContract::new(EffectClass::ExternalCommand, Policy::Escalate).expect("a legal pair");
    let terms = Arc::new(KindSpec::new(KindName::parse("notice.issue").expect("a name"), contract));
    let key = OperationKey::new(
        Tenant::default(),
        terms.kind.clone(),
        OperationId::parse("CASE-1:NOTICE").expect("an operation id"),
    );
    let keys = Arc::new(Keyring::new(FingerprintKey::new(KeyId(1), [7; 32]), Vec::new()));
    let attempt_id = AttemptId::from_random([1; 16]);
    let claim = ClaimRequest {
        key: key.clone(),
        input: FingerprintInput::new(*b"{}", &Mode::Raw, &keys).expect("raw bytes have a fingerprint"),
        attempt_id,
        terms: Arc::clone(&terms),
        origin: Origin::new(Source::Job),
        holder: Holder { worker: Arc::from("worker-1"), installation: None },
        jitter: Jitter(0),
    };
    let granted = decide(None, &claim, now).expect("one key is in use").transition.expect("granted").entry;
    let request = RecordRequest { key, fence: granted.fence, attempt_id, outcome, terms, jitter: Jitter(0) };
    let mut settled = record(Some(&granted), None, &request, now).transition.expect("settled");
    let incident = settled.settle_incident(None);
    (settled.entry, incident)
}

#[test]
fn failure_classification_000_8_1() {
    let rows = [
        differs("Network timeout", "unknown DOWNSTREAM_TIMEOUT", UNKNOWN_NOT_FAILED),
        differs("503 service unavailable", "unknown DOWNSTREAM_UNAVAILABLE", UNKNOWN_NOT_FAILED),
        row("429 rate limit", "retry after 60 s"),
        row("400 invalid request due to model bug", "incident INVALID_WORKER_CONTRACT, never retried"),
        row("Business not eligible", "BPMN error"),
        row("Duplicate already completed", "COMPLETE"),
        row("Optimistic lock conflict", "RETRY after 50 ms"),
        row("Permission denied", "incident PERMISSION, never retried"),
        row("Unknown exception", "retried twice, then over"),
    ];
    let judged = |happened| match judge(happened, Sent::Something, &Promises::default()) {
        CallMeaning::Unknown(Category::DownstreamTimeout) => "unknown DOWNSTREAM_TIMEOUT",
        CallMeaning::Unknown(Category::DownstreamUnavailable) => "unknown DOWNSTREAM_UNAVAILABLE",
        CallMeaning::NotApplied(Category::RateLimited)
            if wait(Category::RateLimited, 1, None) == Some(Duration::from_mins(1)) =>
        {
            "retry after 60 s"
        }
        CallMeaning::Broken(category) | CallMeaning::NotApplied(category) => incident(category, happened),
        CallMeaning::NotSent(_)
        | CallMeaning::Unknown(_)
        | CallMeaning::StillRunning
        | CallMeaning::Final
        | CallMeaning::Business(_) => "something else",
    };
    hold("000 §8.1", 9, &rows, |name| match name {
        "Network timeout" => judged(CallOutcome::Timeout),
        "503 service unavailable" => judged(CallOutcome::Status(503)),
        "429 rate limit" => judged(CallOutcome::Status(429)),
        "400 invalid request due to model bug" => judged(CallOutcome::Status(400)),
        "Business not eligible" if BpmnCode::try_of(DOWNSTREAM_REJECTED).is_some() => "BPMN error",
        "Duplicate already completed" if RESULT_NOT_KEPT.job_answer() == JobAnswer::Complete => "COMPLETE",
        "Optimistic lock conflict"
            if OPTIMISTIC_LOCK_CONFLICT.job_answer() == JobAnswer::Retry
                && wait(Category::Contention, 1, None) == Some(Duration::from_millis(50)) =>
        {
            "RETRY after 50 ms"
        }
        "Permission denied" => judged(CallOutcome::Status(403)),
        "Unknown exception"
            if wait(Category::Unexpected, 2, None).is_some() && wait(Category::Unexpected, 3, None).is_none() =>
        {
            "retried twice, then over"
        }
        _ => "something else",
    });
}

#[test]
fn retry_backoff_000_8_2() {
    let seconds = |category, retry_after| wait(category, 1, retry_after).map(|wait| wait.as_secs_f64());
    let rows = [
        row("transient network blip", Some(1.0)),
        row("rate limit", Some(60.0)),
        row("downstream maintenance", Some(900.0)),
        row("domain lock contention", Some(0.05)),
        row("unknown bug", Some(10.0)),
    ];
    hold("000 §8.2", 5, &rows, |name| match name {
        "transient network blip" => seconds(Category::DownstreamUnavailable, None),
        "rate limit" => seconds(Category::RateLimited, None),
        "downstream maintenance" => seconds(Category::Maintenance, None),
        "domain lock contention" => seconds(Category::Contention, None),
        "unknown bug" => seconds(Category::Unexpected, None),
        _ => None,
    });
    assert_eq!(seconds(Category::RateLimited, Some(Duration::from_secs(7))), Some(7.0), "Retry-After comes first");
    let now = Timestamp::from_micros(0);
    let third = FailedAttempt {
        category: Category::Unexpected,
        used: 3,
        retry_after: None,
        first_attempt_at: now,
        now,
        jitter: Jitter(0),
    };
    assert_eq!(
        RetryTable::default().next(&third),
        NextRetry::Over(RetryEnd::AttemptsUsedUp),
        "unknown bug: then incident"
    );
}

/// HTTP status, message verdict, job answer, owner.
type Projected = (u16, Verdict, JobAnswer, Owner);

fn projected(code: Code) -> Projected {
    (code.descriptor().status, code.verdict(), code.job_answer(), code.descriptor().owner)
}

#[test]
fn error_classification_matrix_004_2() {
    use {JobAnswer as J, Owner as O, Verdict as V};
    let rows = [
        row("Validation", (400, V::Quarantine, J::BpmnErrorOrIncident, O::Caller)),
        row("Authorization", (403, V::Quarantine, J::BpmnErrorOrIncident, O::Caller)),
        row("Not Found", (404, V::Park, J::BpmnErrorOrRetry, O::Caller)),
        // 422: the id was used for another request, which is not a race of two writers.
        differs("Conflict", (422, V::Handled, J::BpmnErrorOrIncident, O::Caller), UNKNOWN_NOT_FAILED),
        row("Duplicate", (409, V::Handled, J::Complete, O::Caller)),
        row("Optimistic Lock", (409, V::Retry, J::Retry, O::Caller)),
        row("Deadlock/Serialization", (503, V::Retry, J::Retry, O::Application)),
        differs("Dependency Timeout", (504, V::Retry, J::RetryOrUnknown, O::Operator), UNKNOWN_NOT_FAILED),
        row("Contract Violation", (400, V::Quarantine, J::Incident, O::UpstreamProducer)),
        row("Bug", (500, V::StopOrQuarantine, J::IncidentOrUnknown, O::Engineering)),
    ];
    hold("004 §2", 10, &rows, |name| {
        projected(match name {
            "Validation" => REQUEST_BODY_INVALID,
            "Authorization" => AUTHORIZATION_DENIED,
            "Not Found" => OPERATION_NOT_FOUND,
            "Conflict" => OPERATION_CONFLICT,
            "Duplicate" => RESULT_NOT_KEPT,
            "Optimistic Lock" => OPTIMISTIC_LOCK_CONFLICT,
            "Deadlock/Serialization" => DB_DEADLOCK_RETRYABLE,
            "Dependency Timeout" => DOWNSTREAM_TIMEOUT,
            "Contract Violation" => EVENT_CONTRACT_INVALID,
            _ => INTERNAL_ERROR,
        })
    });
    assert_eq!(EVIDENCE_REQUIRED.descriptor().status, 422, "semantic validation");
}

#[test]
fn message_failures_004_12() {
    let rows = [
        row("temporary DB outage", Verdict::Retry),
        row("DB deadlock", Verdict::Retry),
        row("unknown event type", Verdict::Quarantine),
        row("invalid payload schema", Verdict::Quarantine),
        row("missing reference due to eventual consistency", Verdict::Park),
        row("business rule rejection", Verdict::Handled),
        row("programming bug", Verdict::StopOrQuarantine),
        row("poison message", Verdict::Quarantine),
    ];
    hold("004 §12", 8, &rows, |name| {
        match name {
            "temporary DB outage" => DATABASE_UNAVAILABLE,
            "DB deadlock" => DB_DEADLOCK_RETRYABLE,
            "unknown event type" => EVENT_VERSION_UNSUPPORTED,
            "invalid payload schema" | "poison message" => EVENT_CONTRACT_INVALID,
            "missing reference due to eventual consistency" => OPERATION_NOT_FOUND,
            "business rule rejection" => DOWNSTREAM_REJECTED,
            _ => INTERNAL_ERROR,
        }
        .verdict()
    });
}

#[test]
fn delegate_error_policy_004_14_1() {
    use JobAnswer as J;
    let rows = [
        row("business rejection modeled in BPMN", (Some("DOWNSTREAM_REJECTED"), J::BpmnErrorOrIncident, false)),
        row("validation failure from process variable bug", (None, J::Incident, false)),
        row("DB temporary failure", (None, J::RetryOrUnknown, true)),
        row("downstream timeout", (None, J::RetryOrUnknown, true)),
        row("non-retryable contract bug", (None, J::Incident, false)),
        row("authorization domain rejection modeled", (Some("AUTHORIZATION_DENIED"), J::BpmnErrorOrIncident, false)),
    ];
    hold("004 §14.1", 6, &rows, |name| {
        let code = match name {
            "business rejection modeled in BPMN" => DOWNSTREAM_REJECTED,
            "validation failure from process variable bug" => INVALID_WORKER_CONTRACT,
            "DB temporary failure" => DATABASE_UNAVAILABLE,
            "downstream timeout" => DOWNSTREAM_TIMEOUT,
            "non-retryable contract bug" => EVENT_CONTRACT_INVALID,
            _ => AUTHORIZATION_DENIED,
        };
        // Thrown into the process as this; else what becomes of the job; whether a job, which has an id, is retried.
        (BpmnCode::try_of(code).map(BpmnCode::as_str), code.job_answer(), code.retryable(true))
    });
}

/// A code as a user's own worker declares it: the process cannot go on as it is modelled.
mod workers {
    onefold_core::codes! {
        /// The case is in a state that the model has no path for
        CASE_PATH_MISSING: Process, status 503, retry OperatorDecides, owner Engineering, visible Redacted;
            summary "the process has no path for the case's state",
            first_check "the case's state, and the deployed version of the model",
            safe_action "migrate the instance to a version that has the path, then retry",
            escalation "the workflow's owner";
    }
}

#[test]
fn a_users_code_of_class_process_is_an_incident_and_never_a_business_path_004_1() {
    let code = workers::CASE_PATH_MISSING;
    assert_eq!(projected(code), (503, Verdict::Retry, JobAnswer::Incident, Owner::Engineering));
    assert_eq!((BpmnCode::try_of(code), code.log_level()), (None, Level::Error));
    let failure = Failure {
        code: code.name(),
        needs: Some(Needs::ProcessMigration),
        ..Failure::technical(Category::InvalidWorkerContract, SideEffect::NotApplied)
    };
    let (_, incident) = recorded(Outcome::FailedFinal(failure));
    let incident = incident.expect("an incident");
    assert_eq!(incident.needs, Needs::ProcessMigration);
    assert!(incident.suggested_action.starts_with("migrate the process instances"), "{}", incident.suggested_action);
    assert!(incident.message.as_str().contains("CASE_PATH_MISSING"), "{}", incident.message);
}

#[test]
fn message_to_process_correlation_004_19() {
    let rows = [
        row("payload cannot deserialize", Verdict::Quarantine),
        row("unsupported event version", Verdict::Quarantine),
        row("duplicate inbox message", Verdict::Handled),
        row("Camunda no matching execution", Verdict::Park),
        row("Camunda command timeout", Verdict::Retry),
        row("DB deadlock", Verdict::Retry),
        row("bug in mapper", Verdict::StopOrQuarantine),
    ];
    hold("004 §19", 7, &rows, |name| {
        match name {
            "payload cannot deserialize" => EVENT_CONTRACT_INVALID,
            "unsupported event version" => EVENT_VERSION_UNSUPPORTED,
            "duplicate inbox message" => RESULT_NOT_KEPT,
            "Camunda no matching execution" => MESSAGE_NOT_CORRELATED,
            "Camunda command timeout" => CAMUNDA_COMMAND_FAILED,
            "DB deadlock" => DB_DEADLOCK_RETRYABLE,
            _ => INTERNAL_ERROR,
        }
        .verdict()
    });
    assert_eq!(UNEXPECTED.verdict(), Verdict::StopOrQuarantine);
}
