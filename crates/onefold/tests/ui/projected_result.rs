use onefold::Project;
use onefold::error::Violation;
use onefold::use_case::Project as _;

mod errors {
    onefold::codes! {
        /// The case was not accepted
        CASE_VALIDATION_REJECTED: Validation, status 422, retry Never, owner Caller, visible External;
            summary "the case breaks rules", first_check "the findings", safe_action "fix the case", escalation "case team";
    }
}

#[derive(Project)]
enum SubmitFailure {
    #[project(status = 503, code = onefold::error::DATABASE_UNAVAILABLE)]
    Transient,
}

#[derive(Project)]
enum SubmitCaseResult {
    #[project(status = 201, code = "ACCEPTED")]
    Accepted { case: String },
    #[project(status = 422, code = errors::CASE_VALIDATION_REJECTED)]
    Rejected {
        #[project(findings)]
        findings: Vec<Violation>,
    },
    #[project(transparent)]
    Failed(SubmitFailure),
}

fn main() {
    assert_eq!(SubmitCaseResult::Accepted { case: "CASE-1".into() }.projection().status(), 201);
    let rejected = SubmitCaseResult::Rejected { findings: Vec::new() }.projection();
    assert_eq!(rejected.error().unwrap().code(), errors::CASE_VALIDATION_REJECTED);
    assert_eq!(SubmitCaseResult::Failed(SubmitFailure::Transient).projection().status(), 503);
    if let SubmitCaseResult::Accepted { case } = (SubmitCaseResult::Accepted { case: "CASE-2".into() }) {
        assert_eq!(case, "CASE-2");
    }
    assert_eq!(onefold::throw!(errors::CASE_VALIDATION_REJECTED).as_str(), "CASE_VALIDATION_REJECTED");
}
