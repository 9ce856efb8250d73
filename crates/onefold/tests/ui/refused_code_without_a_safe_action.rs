mod errors {
    onefold::codes! {
        /// The case is closed
        CASE_CLOSED: DomainRule, status 409, retry Never, owner Application, visible External;
            summary "the case takes no notices any more",
            first_check "the case's state",
            escalation "case team";
    }
}

fn main() {
    let _ = errors::CASE_CLOSED;
}
