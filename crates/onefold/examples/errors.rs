//! An error is declared once, with all that a caller, a log and a person on duty need to know.

mod errors {
    onefold::codes! {
        /// Case is in an invalid state for this operation
        CASE_INVALID_STATE: DomainRule, status 409, retry Never, owner Application, visible External;
            summary "the case does not allow this operation now",
            first_check "the case's lifecycle in the audit trail",
            safe_action "none: the caller chooses another operation",
            escalation "case team";
    }
}

fn main() {
    let error = onefold::Error::new(errors::CASE_INVALID_STATE, "CASE-1 is closed").hint("reopen it first");
    println!("{error}");
    assert_eq!(error.code().descriptor().status, 409);
    assert_eq!(error.code(), errors::CASE_INVALID_STATE);
}
