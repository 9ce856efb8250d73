mod errors {
    onefold::codes! {
        /// The case is closed
        CASE_CLOSED: DomainRule, status 409, retry Never, visible External;
            summary "the case takes no notices any more",
            first_check "the case's state",
            safe_action "none: the caller chooses another case",
            escalation "case team";
    }
}

fn main() {
    let _ = errors::CASE_CLOSED;
}
