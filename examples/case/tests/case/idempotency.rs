//! 004 §16: a key that comes again is not always an error.

use serde_json::json;

use crate::rows::{Note, hold, noted, row};
use crate::service::{Service, submission, with};

/// The product's own code answers 422, as 409 also means "come again"; this service's own code keeps the text's 409.
const OTHER_PAYLOAD: Note = Note::Decision("0001-where-we-differ-from-the-source-texts.md");

fn seen(name: &str) -> u16 {
    let service = Service::start();
    match name {
        "FirstAttempt" => service.submit("k", &submission()).status,
        "ReplayCompleted" => {
            let first = service.submit("k", &submission());
            let again = service.submit("k", &submission());
            assert_eq!(again.body["caseId"], first.body["caseId"]);
            again.status
        }
        "ConflictWithDifferentPayload" => {
            assert_eq!(service.submit("k", &submission()).status, 201);
            let other = service.submit("k", &with("/subject", json!("company-8")));
            assert_eq!(other.body["code"], "CASE_DUPLICATE_SUBMISSION");
            assert_eq!(other.body["retryable"], false);
            other.status
        }
        "InProgress" => in_progress(&service),
        other => panic!("there is no row {other}"),
    }
}

/// Another process has the write transaction in which the same key may be performed.
fn in_progress(service: &Service) -> u16 {
    let holder = service.database();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = service.submit("k", &submission());
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert_eq!(answer.body["retryable"], true);
    answer.status
}

#[test]
fn decisions_about_a_key_004_16() {
    let rows = [
        row("FirstAttempt", 201),
        row("ReplayCompleted", 200),
        noted("ConflictWithDifferentPayload", 409, OTHER_PAYLOAD),
        row("InProgress", 503),
    ];
    hold("004 §16", 4, &rows, seen);
}

#[test]
fn one_key_sent_many_times_at_once_is_one_case() {
    let service = Service::start();
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8).map(|_| scope.spawn(|| service.submit("k", &submission()).status)).collect();
        asked.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 201]);
    assert_eq!(service.count(), 1);
}
