//! The codes that no call reaches here, each made with planted words wherever an error has room for them.

use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use onefold_core::Error;
use onefold_core::error::{self as codes, Code, Severity, Violation, Visibility};
use onefold_http::ProblemResponse;

/// What the server does not answer, or only in places where a test does not get it to.
pub(crate) const CONSTRUCTED: &[Code] = &[
    // What is recorded of dependencies: in incidents and outcomes, never as an answer of the API.
    codes::DOWNSTREAM_UNAVAILABLE,
    codes::DOWNSTREAM_TIMEOUT,
    codes::DOWNSTREAM_REJECTED,
    codes::RATE_LIMITED,
    codes::MAINTENANCE,
    codes::INVALID_WORKER_CONTRACT,
    codes::PERMISSION,
    codes::CONTENTION,
    codes::STORE_UNAVAILABLE,
    codes::ATTEMPTS_EXHAUSTED,
    codes::HOLDER_LOST,
    codes::DUPLICATE_SUSPECTED,
    codes::UNEXPECTED,
    // Of the library, in the caller's own process.
    codes::OUTCOME_NOT_RECORDED,
    codes::TEMPLATE_INVALID,
    codes::FINGERPRINT_KEY_MISSING,
    codes::RESULT_NOT_KEPT,
    codes::RESULT_DAMAGED,
    codes::RESULT_UNREADABLE,
    codes::OPTIMISTIC_LOCK_CONFLICT,
    codes::VALIDATION_REJECTED,
    // Of a database in a state that takes a broken disk, a wrong clock, another process or a race.
    codes::DATABASE_UNAVAILABLE,
    codes::COMMIT_UNKNOWN,
    codes::CLOCK_NOT_CONFIRMED,
    codes::ARCHIVE_DAMAGED,
    codes::DATABASE_READ_ONLY,
    codes::DATABASE_CORRUPT,
    codes::DATABASE_ALIASED,
    codes::LEDGER_WENT_BACK,
    codes::DATABASE_TOO_NEW,
    codes::DATABASE_IN_USE,
    codes::DATABASE_FULL,
    codes::RUN_AGAIN,
    codes::DB_DEADLOCK_RETRYABLE,
    codes::DB_SERIALIZATION_RETRYABLE,
    codes::SHUTTING_DOWN,
    codes::INTERNAL_ERROR,
    // Of commands.
    codes::TOKEN_NOT_FOUND,
    codes::BACKUP_REFUSED,
    codes::CONFIGURATION_INVALID,
    codes::ADDRESS_UNAVAILABLE,
    codes::LEDGER_NOT_FOUND,
    codes::DATABASE_NOT_EMPTY,
    codes::OUTPUT_NOT_WRITTEN,
    codes::SERVER_UNREACHABLE,
    codes::COMMAND_FAILED,
    codes::COMMAND_NOT_STARTED,
    codes::COMMAND_KILLED,
    // Of the layer and the gateway, which answer on listeners of their own.
    codes::IDEMPOTENCY_KEY_REUSED,
    codes::OPERATION_IN_FLIGHT,
    codes::OPERATION_WAITING,
    codes::OUTCOME_UNKNOWN,
    codes::RESULT_UNAVAILABLE,
    codes::REQUEST_TOO_SLOW,
    codes::TOO_BUSY,
    codes::BREAKER_OPEN,
    codes::BULKHEAD_FULL,
    codes::RATE_EXCEEDED,
    codes::UPSTREAM_UNREACHABLE,
    // Of boundaries that stand in other services.
    codes::REQUEST_HEADER_MISSING,
    codes::IDEMPOTENCY_KEY_INVALID,
    codes::KAFKA_PUBLISH_FAILED,
    // Of relays and of staging: in incidents, logs and the caller's own process.
    codes::EVENT_TARGET_REFUSED,
    codes::EVENT_IN_FLIGHT,
    codes::REPLAY_ENDED,
    codes::RELAY_TABLE_INVALID,
    codes::TARGET_UNAVAILABLE,
    codes::TARGET_NOT_READY,
    codes::RELAY_STOPPED,
    codes::RELAY_SET_ASIDE_FULL,
    codes::DATABASE_RESTORED,
    codes::STANDBY_REFUSED,
    codes::SEQUENCE_CACHED,
    codes::CAMUNDA_COMMAND_FAILED,
    codes::MESSAGE_NOT_CORRELATED,
];

/// What drivers, engines and dependencies say: everything they know. Only names and addresses may reach the log.
const CAUSES: [&str; 6] = [
    "duplicate key violates \"cases_reference\" of db-1.internal:5432: Key (iban)=(m4rk3r-key) already exists",
    "no such column: x in INSERT INTO m4rk3r_table VALUES ('m4rk3r-literal') at offset 12",
    "Command 'COMPLETE' rejected: variable 'iban' has value 'm4rk3r-engine', expected {\"iban\": \"m4rk3r-json\"}",
    "401 from db-1.internal: Authorization: Bearer m4rk3r-bearer was refused, password=m4rk3r-password",
    "invalid type: string \"m4rk3r-decoded\", expected u64 at line 1",
    "refused\n  at com.example.m4rk3r.Call(Call.java:7)",
];

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn made(code: Code, said: &str) -> Error {
    let violation = Violation::new("$.m4rk3r", codes::REQUEST_INVALID, said, Severity::Error);
    Error::new(code, said)
        .hint(said)
        .violating(vec![violation])
        .with_fact("said", said)
        .caused_by(std::io::Error::other(said.to_owned()))
}

/// What a client is told of an error, and what is logged of it at the most talkative.
async fn told(error: Error) -> (String, String) {
    let lines = Lines::default();
    let writer = lines.clone();
    let logging = tracing_subscriber::fmt()
        .with_env_filter("trace")
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    let response = tracing::subscriber::with_default(logging, || ProblemResponse::from(error).into_response());
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let log = String::from_utf8_lossy(&lines.0.lock().unwrap()).into_owned();
    (String::from_utf8_lossy(&bytes).into_owned(), log)
}

#[tokio::test]
async fn no_constructed_error_tells_what_was_planted_in_it() {
    for code in CONSTRUCTED {
        for said in CAUSES {
            let (body, log) = told(made(*code, said)).await;
            let hides = code.descriptor().visibility != Visibility::External;
            assert!(body.contains(code.as_str()), "{body}");
            assert!(!hides || !(body.contains("m4rk3r") || body.contains("db-1.internal")), "{body}");
            assert!(log.contains(code.as_str()) && !log.contains("m4rk3r"), "{code}: {log}");
        }
    }
}
