//! 004 §18: submitting a case, end to end.

use std::time::Instant;

use serde_json::{Value, json};

use crate::rows::{Note, hold, noted, row};
use crate::service::{Answer, BUSY_WAIT, Service, submission, with};

const DEADLOCK: Note = Note::ShownElsewhere(
    "one file has one writer, so nobody waits for each other: contention is a write transaction held for too long; \
     a real deadlock needs the PostgreSQL store and is proved with it",
);

/// A problem: its code and status as one text; a success has no code.
fn shown(answer: &Answer) -> String {
    let (status, code) = answer.seen();
    format!("{code} {status}").trim().to_owned()
}

fn seen(name: &str) -> String {
    let service = Service::start();
    match name {
        "JSON parse failure" => shown(&service.ask("POST", "/cases", &[("Idempotency-Key", "k")], "{\"title\": ")),
        "missing idempotency key" => shown(&service.ask("POST", "/cases", &[], &submission().to_string())),
        "invalid domain rule" => shown(&service.submit("k", &with("/evidence/0/occurredOn", json!("2999-01-01")))),
        "duplicate same payload" => {
            let first = service.submit("k", &submission());
            let again = service.submit("k", &submission());
            assert_eq!((first.status, service.count()), (201, 1));
            assert_eq!(again.body, first.body, "the same semantic result");
            format!("replay {}", again.status)
        }
        "duplicate different payload" => {
            assert_eq!(service.submit("k", &submission()).status, 201);
            let other = service.submit("k", &with("/title", json!("Noise at noon")));
            assert_eq!(service.count(), 1);
            shown(&other)
        }
        "unique violation on idempotency" => unique_violation(&service),
        "DB deadlock" => contention(&service),
        "DB unavailable" => unavailable(&service),
        "programming invariant" => unmapped_constraint(&service),
        other => panic!("there is no row {other}"),
    }
}

/// The ledger forgot, the case is still there: the unique index decides by what is kept.
fn unique_violation(service: &Service) -> String {
    let first = service.submit("k", &submission());
    assert_eq!(first.status, 201);
    let database = service.database();
    let forgotten = database.execute("DELETE FROM onefold_operations", []).unwrap();
    assert_eq!(forgotten, 1);
    let same = service.submit("k", &submission());
    assert_eq!(same.body, first.body);
    let other = service.submit("k", &with("/title", json!("Noise at noon")));
    assert_eq!(service.count(), 1);
    format!("same {}, other {}", shown(&same), shown(&other))
}

fn contention(service: &Service) -> String {
    let holder = service.database();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let answer = service.submit("k", &submission());
    let waited = began.elapsed();
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(waited >= BUSY_WAIT * 3, "it was tried three times, not {waited:?}");
    assert_eq!(answer.body["retryable"], true);
    assert!(answer.header("retry-after").is_some());
    assert_eq!(service.submit("k", &submission()).status, 201, "and the key is free");
    shown(&answer)
}

/// Each write to a file fails while the limit is nothing.
fn unavailable(service: &Service) -> String {
    service.let_write(Some(0));
    let answer = service.submit("k", &submission());
    service.let_write(None);
    assert!(!answer.text.contains("cases.db"), "{}", answer.text);
    assert_eq!(answer.body["retryable"], true);
    assert_eq!(service.submit("k", &submission()).status, 201, "and the key is free");
    shown(&answer)
}

/// Somebody adds a constraint to the schema that the service does not know.
fn unmapped_constraint(service: &Service) -> String {
    service.database().execute_batch("CREATE UNIQUE INDEX one_of_each ON cases (title)").unwrap();
    assert_eq!(service.submit("k-1", &submission()).status, 201);
    let answer = service.submit("k-2", &submission());
    for inner in ["UNIQUE", "unique", "cases.title", "one_of_each", "onefold", "sqlite", "SQLITE"] {
        assert!(!answer.text.contains(inner), "{inner}: {}", answer.text);
    }
    assert_eq!(answer.body["retryable"], false);
    assert_eq!(service.count(), 1);
    shown(&answer)
}

#[test]
fn submitting_a_case_004_18() {
    let rows = [
        row("JSON parse failure", "REQUEST_BODY_INVALID 400"),
        row("missing idempotency key", "REQUEST_HEADER_MISSING 400"),
        row("invalid domain rule", "CASE_VALIDATION_REJECTED 422"),
        row("duplicate same payload", "replay 200"),
        row("duplicate different payload", "CASE_DUPLICATE_SUBMISSION 409"),
        row("unique violation on idempotency", "same 200, other CASE_DUPLICATE_SUBMISSION 409"),
        noted("DB deadlock", "DATABASE_BUSY 503", DEADLOCK),
        row("DB unavailable", "DATABASE_UNAVAILABLE 503"),
        row("programming invariant", "PROGRAMMING_INVARIANT_VIOLATED 500"),
    ];
    hold("004 §18", 9, &rows, |name| -> &'static str { seen(name).leak() });
}

#[test]
fn a_case_that_was_accepted_is_shown_and_another_is_not_found() {
    let service = Service::start();
    let accepted = service.submit("k", &submission());
    let id = accepted.body["caseId"].as_str().unwrap();
    let case = service.ask("GET", &format!("/cases/{id}"), &[], "");
    assert_eq!((case.status, &case.body["status"]), (200, &json!("SUBMITTED")));
    assert_eq!(case.body["submittedAt"], accepted.body["submittedAt"]);
    let missing = service.ask("GET", "/cases/CASE-0", &[("X-Correlation-Id", "corr-7")], "");
    assert_eq!(missing.seen(), (404, "CASE_NOT_FOUND".to_owned()));
    assert_eq!(missing.header("content-type"), Some("application/problem+json"));
    assert_eq!(missing.body["correlationId"], "corr-7");
    assert_eq!(missing.body["type"], "/errors/case-not-found");
}

#[test]
fn a_key_that_is_too_long_is_invalid() {
    let answer = Service::start().submit(&"k".repeat(256), &submission());
    assert_eq!(answer.seen(), (400, "IDEMPOTENCY_KEY_INVALID".to_owned()));
}

#[test]
fn a_rejected_submission_leaves_its_key_free() {
    let service = Service::start();
    assert_eq!(service.submit("k", &with("/submittedBy", json!("nobody"))).status, 422);
    assert_eq!(service.submit("k", &submission()).status, 201);
}

#[test]
fn a_damaged_answer_in_the_store_is_not_a_defect_of_the_code() {
    let service = Service::start();
    assert_eq!(service.submit("k", &submission()).status, 201);
    let database = service.database();
    database.execute("DELETE FROM onefold_operations", []).unwrap();
    database.execute("UPDATE cases SET answer = 'torn'", []).unwrap();
    assert_eq!(service.submit("k", &submission()).seen(), (503, "DATABASE_CORRUPT".to_owned()));
}

#[test]
fn the_service_ends_when_it_is_asked_to() {
    let service = Service::start();
    assert_eq!(service.submit("k", &submission()).status, 201);
    assert!(service.stop());
}

#[test]
fn refusals_of_the_domain_reach_the_client_under_their_codes() {
    let service = Service::start();
    let twice: Value = json!([submission()["evidence"][0], submission()["evidence"][0]]);
    let closed = service.submit("closed", &submission()).body["caseId"].clone();
    service.database().execute("UPDATE cases SET status = 'CLOSED'", []).unwrap();
    let rows = [
        ("/submittedBy", json!("officer-3"), "AUTHORIZATION_DENIED 403"),
        ("/reviewer", json!("officer-1"), "AUTHORIZATION_DENIED 403"),
        ("/evidence", twice, "EVIDENCE_INVALID 422"),
        ("/supplements", closed, "CASE_INVALID_STATE 409"),
    ];
    for (at, value, expected) in rows {
        assert_eq!(shown(&service.submit("k", &with(at, value))), expected, "{at}");
    }
}
