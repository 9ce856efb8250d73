//! The closed sets that a descriptor chooses from.

use crate::ledger::named;

named! {
    /// The closed kind of an error; projections are total functions of it.
    ErrorClass {
        /// What was sent is malformed or incomplete.
        Validation = "VALIDATION",
        /// A rule of the business says no.
        DomainRule = "DOMAIN_RULE",
        /// The actor, or we ourselves, may not.
        Authorization = "AUTHORIZATION",
        /// There is no such thing, or not yet.
        NotFound = "NOT_FOUND",
        /// It contradicts what is recorded.
        Conflict = "CONFLICT",
        /// It was done before.
        Duplicate = "DUPLICATE",
        /// What was read has changed since.
        OptimisticLock = "OPTIMISTIC_LOCK",
        /// Concurrent work got in the way: deadlock, serialization.
        Contention = "CONTENTION",
        /// Something we depend on did not answer.
        Dependency = "DEPENDENCY",
        /// A promise between two systems is broken.
        Contract = "CONTRACT",
        /// The process cannot go on as modelled.
        Process = "PROCESS",
        /// A person or the platform must act.
        Operational = "OPERATIONAL",
        /// A defect.
        Bug = "BUG",
    }
}

named! {
    /// Whether the same request may be sent again.
    Retryability {
        /// The same request fails again.
        Never = "NEVER",
        /// At once.
        Safe = "SAFE_TO_RETRY",
        /// After waiting.
        AfterBackoff = "RETRY_AFTER_BACKOFF",
        /// Only where the request carries a key or id that deduplicates it.
        OnlyIfIdempotent = "RETRY_ONLY_IF_IDEMPOTENT",
        /// A person looks first.
        OperatorDecides = "OPERATOR_DECISION_REQUIRED",
    }
}

named! {
    /// Who must act.
    Owner {
        /// The sender of the request.
        Caller = "CALLER",
        /// The person behind the request.
        User = "USER",
        /// The team of this application.
        Application = "APPLICATION",
        /// The team of the platform.
        Platform = "PLATFORM",
        /// The producer of the message.
        UpstreamProducer = "UPSTREAM_PRODUCER",
        /// The people who fix data.
        DataRepair = "DATA_REPAIR",
        /// The people who fix code.
        Engineering = "ENGINEERING",
        /// The operator on duty.
        Operator = "OPERATOR",
    }
}

named! {
    /// Who may read the detail.
    Visibility {
        /// Any caller.
        External = "EXTERNAL_SAFE",
        /// Any caller, without the detail.
        Redacted = "REDACTED",
        /// Logs and operators only.
        Internal = "INTERNAL_ONLY",
    }
}
