//! The codes as they were reviewed, and how each error is shown; no process is needed.

use onefold::error::{
    AUTHORIZATION_DENIED, Code, DATABASE_BUSY, DATABASE_UNAVAILABLE, Error, PROGRAMMING_INVARIANT_VIOLATED, Problem,
    ProblemContext, registry_json, review,
};
use onefold::use_case::{Coded as _, Project as _};
use onefold_example_case::domain::{CaseDomainError, CaseStatus, admit, decide, review as reviewed_by, supplement};
use onefold_example_case::errors::{ALL, CASE_INVALID_STATE, DECISION_NOT_ALLOWED, EVIDENCE_INVALID};
use onefold_example_case::result::{IdempotencyDecision, SubmitCaseApplicationError, SubmitCaseResult, Submitted};
use onefold_example_case::store::constraints;

const REVIEWED: &str = include_str!("../../registry.json");

#[test]
fn no_code_clashes_or_changed_its_meaning() {
    assert_eq!(review(ALL, REVIEWED), [""; 0]);
    let present: serde_json::Value = serde_json::from_str(REVIEWED).unwrap();
    assert_eq!(registry_json(ALL), present, "registry.json is as the codes are");
    assert_eq!(ALL.len(), 6);
    let other = REVIEWED.replacen("409", "422", 1);
    assert_eq!(review(ALL, &other), ["CASE_INVALID_STATE: httpStatus was 422 and is 409"]);
}

fn domain_errors() -> [(CaseDomainError, Code, u16); 4] {
    [
        (supplement("CASE-1", CaseStatus::Closed).unwrap_err(), CASE_INVALID_STATE, 409),
        (admit(["E-1", "E-2", "E-1"]).unwrap_err(), EVIDENCE_INVALID, 422),
        (decide("CASE-1", "officer-1", "officer-1").unwrap_err(), DECISION_NOT_ALLOWED, 409),
        (reviewed_by("officer-1", "officer-1").unwrap_err(), AUTHORIZATION_DENIED, 403),
    ]
}

#[test]
fn each_domain_error_has_its_code_and_says_nothing_of_ids() {
    for (error, code, _) in domain_errors() {
        assert_eq!(error.code(), code, "{error:?}");
        for id in ["CASE-1", "E-1", "officer-1"] {
            assert!(!error.safe_message().contains(id), "{error:?}");
        }
    }
    assert_eq!(supplement("CASE-1", CaseStatus::Assessed), Ok(()));
    assert_eq!(decide("CASE-1", "officer-1", "officer-2"), Ok(()));
}

#[test]
fn each_application_error_has_its_status() {
    for (error, code, status) in domain_errors() {
        let projection = SubmitCaseApplicationError::DomainFailure(error).projection();
        assert_eq!((projection.status(), projection.error().unwrap().code()), (status, code));
    }
    let rows = [
        (
            SubmitCaseApplicationError::AuthorizationFailure {
                code: AUTHORIZATION_DENIED,
                actor_id: "officer-3".to_owned(),
            },
            403,
        ),
        (
            SubmitCaseApplicationError::TransientFailure {
                code: DATABASE_UNAVAILABLE,
                dependency: "database",
                native: Some("SQLITE_IOERR"),
            },
            503,
        ),
        (SubmitCaseApplicationError::InvariantViolation { detail: "cases.title".to_owned() }, 500),
    ];
    for (error, status) in rows {
        let projection = error.projection();
        assert_eq!(projection.status(), status, "{error:?}");
        let problem = Problem::of(projection.error().unwrap(), &ProblemContext::default());
        let text = serde_json::to_string(&problem).unwrap();
        for inner in ["officer-3", "cases.title", "SQLITE"] {
            assert!(!text.contains(inner), "{inner}: {text}");
        }
    }
}

#[test]
fn a_failure_of_the_store_is_transient_or_a_defect() {
    let of = |code| SubmitCaseApplicationError::of_store(&Error::new(code, "x"));
    let transient = |code| SubmitCaseApplicationError::TransientFailure { code, dependency: "database", native: None };
    assert_eq!(of(DATABASE_BUSY), transient(DATABASE_BUSY));
    assert_eq!(of(DATABASE_UNAVAILABLE), transient(DATABASE_UNAVAILABLE));
    let defect = of(PROGRAMMING_INVARIANT_VIOLATED);
    assert!(matches!(defect, SubmitCaseApplicationError::InvariantViolation { .. }));
}

#[test]
fn each_decision_and_result_has_its_status() {
    let submitted = || Submitted { case_id: "CASE-1".to_owned(), submitted_at: "now".to_owned(), warnings: Vec::new() };
    let retry_after = std::time::Duration::from_millis(20);
    let rows = [
        (IdempotencyDecision::FirstAttempt(SubmitCaseResult::Accepted(submitted())), 201),
        (IdempotencyDecision::ReplayCompleted(SubmitCaseResult::Duplicate(submitted())), 200),
        (IdempotencyDecision::FirstAttempt(SubmitCaseResult::Rejected { findings: Vec::new() }), 422),
        (IdempotencyDecision::ConflictWithDifferentPayload, 409),
        (IdempotencyDecision::InProgress { retry_after }, 503),
    ];
    for (decision, status) in rows {
        assert_eq!(decision.projection().status(), status, "{decision:?}");
    }
}

#[test]
fn the_mapped_constraints_are_those_of_the_schema() {
    let schema = include_str!("../../migrations/0001_create_cases.sql");
    let words: Vec<&str> = schema.split_whitespace().collect();
    let mut named: Vec<String> =
        words.windows(2).filter(|pair| pair[0] == "CONSTRAINT").map(|pair| pair[1].to_owned()).collect();
    // SQLite names a unique index by its table and column.
    let indexed = words.iter().position(|word| *word == "ON").map(|at| (words[at + 1], words[at + 2])).unwrap();
    named.push(format!("{}.{}", indexed.0, indexed.1.trim_matches(['(', ')', ';'])));
    let constraints = constraints();
    let (unmapped, gone) = constraints.compare(&named);
    assert_eq!(unmapped, ["actor_standing_known"], "no request writes actors");
    assert_eq!(gone, [""; 0]);
}
