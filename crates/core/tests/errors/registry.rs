//! The registry: a changed code shows in review, and a class fixes what its codes may answer.

use onefold_core::error::{ALL, ErrorClass};

/// The 16 codes of 004 §4 that are not of its example domain.
const SOURCE_CODES: [&str; 16] = [
    "REQUEST_BODY_INVALID",
    "REQUEST_HEADER_MISSING",
    "IDEMPOTENCY_KEY_INVALID",
    "EVENT_CONTRACT_INVALID",
    "EVENT_VERSION_UNSUPPORTED",
    "AUTHENTICATION_REQUIRED",
    "AUTHORIZATION_DENIED",
    "OPTIMISTIC_LOCK_CONFLICT",
    "DB_DEADLOCK_RETRYABLE",
    "DB_SERIALIZATION_RETRYABLE",
    "DATABASE_UNAVAILABLE",
    "KAFKA_PUBLISH_FAILED",
    "CAMUNDA_COMMAND_FAILED",
    "DOWNSTREAM_TIMEOUT",
    "INTERNAL_ERROR",
    "PROGRAMMING_INVARIANT_VIOLATED",
];

#[test]
fn the_source_texts_codes_keep_their_names() {
    for name in SOURCE_CODES {
        assert!(ALL.iter().any(|code| code.as_str() == name), "{name}");
    }
}

#[test]
fn a_status_is_one_that_its_class_allows() {
    for code in ALL {
        let allowed: &[u16] = match code.descriptor().class {
            ErrorClass::Validation => &[400, 405, 408, 413, 415, 422],
            ErrorClass::DomainRule | ErrorClass::Conflict => &[409, 422],
            ErrorClass::Authorization => &[401, 403],
            ErrorClass::NotFound => &[404],
            ErrorClass::Duplicate | ErrorClass::OptimisticLock => &[409],
            ErrorClass::Contention | ErrorClass::Process | ErrorClass::Operational => &[503],
            ErrorClass::Dependency => &[429, 502, 503, 504],
            ErrorClass::Contract => &[400, 409, 422, 500],
            ErrorClass::Bug => &[500],
        };
        assert!(allowed.contains(&code.descriptor().status), "{code}");
    }
}

#[test]
fn the_registry_is_as_it_was_reviewed() {
    let lines: Vec<String> = ALL
        .iter()
        .map(|code| {
            let known = code.descriptor();
            format!(
                "{} {} {} {} {} {} {} {} {}",
                known.code,
                known.class,
                known.status,
                known.retryability,
                known.owner,
                known.visibility,
                code.verdict(),
                code.job_answer(),
                code.log_level()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
