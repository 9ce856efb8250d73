//! What the end of a call says about the dependency that was called.

use crate::ledger::Outcome;
use crate::retry::Category;

/// What a call says about the health of its dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallHealth {
    /// It answered, whatever it answered.
    Answered,
    /// No connection, no answer, or an answer that says it is not well.
    Failed,
    /// The dependency has no part in how the call ended.
    NotInvolved,
}

impl CallHealth {
    /// What a recorded outcome says.
    pub fn of_outcome(outcome: &Outcome) -> Self {
        match outcome.failure() {
            None => Self::Answered,
            Some(failure) => failure.category.map_or(Self::Answered, Self::of_category),
        }
    }

    /// What a failure of this category says.
    pub const fn of_category(category: Category) -> Self {
        match category {
            Category::DownstreamUnavailable | Category::DownstreamTimeout | Category::Maintenance => Self::Failed,
            Category::RateLimited | Category::Permission | Category::InvalidWorkerContract => Self::Answered,
            Category::Contention
            | Category::StoreUnavailable
            | Category::HolderLost
            | Category::AttemptsExhausted
            | Category::DuplicateSuspected
            | Category::CommandKilled
            | Category::Unexpected => Self::NotInvolved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::DOWNSTREAM_REJECTED;
    use crate::ledger::{Completion, Failure, SideEffect, StoredResult};

    #[test]
    fn an_answer_is_health_and_silence_is_not() {
        let completed = Completion { result: StoredResult::none(None), evidence: None };
        let technical = |category| Failure::technical(category, SideEffect::Unknown);
        let rows = [
            (Outcome::Completed(completed), CallHealth::Answered),
            (Outcome::FailedFinal(Failure::business(DOWNSTREAM_REJECTED)), CallHealth::Answered),
            (Outcome::FailedRetryable(technical(Category::RateLimited)), CallHealth::Answered),
            (Outcome::FailedRetryable(technical(Category::DownstreamUnavailable)), CallHealth::Failed),
            (Outcome::Unknown(technical(Category::DownstreamTimeout)), CallHealth::Failed),
            (Outcome::Unknown(technical(Category::Unexpected)), CallHealth::NotInvolved),
            (Outcome::Unknown(technical(Category::CommandKilled)), CallHealth::NotInvolved),
        ];
        for (outcome, health) in rows {
            assert_eq!(CallHealth::of_outcome(&outcome), health, "{outcome:?}");
        }
    }
}
