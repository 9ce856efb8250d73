//! The closed sets that a descriptor chooses from.

/// The closed kind of an error; projections are total functions of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the vocabulary of the error model, explained in docs")]
pub enum Class {
    Validation,
    DomainRule,
    Authorization,
    NotFound,
    Conflict,
    Duplicate,
    OptimisticLock,
    Contention,
    Dependency,
    Contract,
    Process,
    Operational,
    Bug,
}

/// Whether the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retryability {
    /// The same request fails again.
    Never,
    /// At once.
    Safe,
    /// After waiting.
    AfterBackoff,
    /// Only where the request carries a key or id that deduplicates it.
    OnlyIfIdempotent,
    /// A person looks first.
    OperatorDecides,
}

/// Who must act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Owner {
    Caller,
    User,
    Application,
    Platform,
    UpstreamProducer,
    DataRepair,
    Engineering,
    Operator,
}

/// Who may read the detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Any caller.
    External,
    /// Any caller, without the detail.
    Redacted,
    /// Logs and operators only.
    Internal,
}
