//! What a case allows. Errors know their code and what may be said of them, nothing of HTTP or the store.

use std::collections::HashSet;

use onefold::error::{AUTHORIZATION_DENIED, Code};
use onefold::use_case::Coded;

use crate::errors::{CASE_INVALID_STATE, DECISION_NOT_ALLOWED, EVIDENCE_INVALID};

/// Where a case stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseStatus {
    /// Handed in, and not yet looked at.
    Submitted,
    /// Looked at, and not yet decided.
    Assessed,
    /// Decided.
    Closed,
}

impl CaseStatus {
    /// Its name in the store and in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "SUBMITTED",
            Self::Assessed => "ASSESSED",
            Self::Closed => "CLOSED",
        }
    }

    /// The status of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Submitted, Self::Assessed, Self::Closed].into_iter().find(|status| status.as_str() == name)
    }
}

/// A rule of the domain that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseDomainError {
    /// The state of the case does not allow the operation.
    InvalidStateTransition {
        /// The case.
        case_id: String,
        /// Its state.
        current: CaseStatus,
        /// What was to be done.
        operation: &'static str,
    },
    /// A piece of evidence cannot be taken.
    EvidenceRejected {
        /// Which.
        evidence_id: String,
        /// Why.
        reasons: Vec<String>,
    },
    /// This actor does not decide this case.
    DecisionNotAllowed {
        /// The case.
        case_id: String,
        /// The actor.
        actor_id: String,
    },
    /// One actor would hold two duties that are kept apart.
    ActorConflict {
        /// The actor.
        actor_id: String,
        /// The duties.
        rule: &'static str,
    },
}

impl Coded for CaseDomainError {
    fn code(&self) -> Code {
        match self {
            Self::InvalidStateTransition { .. } => CASE_INVALID_STATE,
            Self::EvidenceRejected { .. } => EVIDENCE_INVALID,
            Self::DecisionNotAllowed { .. } => DECISION_NOT_ALLOWED,
            Self::ActorConflict { .. } => AUTHORIZATION_DENIED,
        }
    }

    fn safe_message(&self) -> String {
        match self {
            Self::InvalidStateTransition { current, operation, .. } => {
                format!("a case that is {} does not allow to {operation}", current.as_str())
            }
            Self::EvidenceRejected { reasons, .. } => format!("evidence was not taken: {}", reasons.join(", ")),
            Self::DecisionNotAllowed { .. } => "the person who submitted a case does not decide it".to_owned(),
            Self::ActorConflict { rule, .. } => (*rule).to_owned(),
        }
    }
}

/// A case may be supplemented until it is closed.
pub fn supplement(case_id: &str, current: CaseStatus) -> Result<(), CaseDomainError> {
    match current {
        CaseStatus::Submitted | CaseStatus::Assessed => Ok(()),
        CaseStatus::Closed => Err(CaseDomainError::InvalidStateTransition {
            case_id: case_id.to_owned(),
            current,
            operation: "supplement it",
        }),
    }
}

/// A piece of evidence is in a case once.
pub fn admit<'a>(evidence_ids: impl IntoIterator<Item = &'a str>) -> Result<(), CaseDomainError> {
    let mut seen = HashSet::new();
    match evidence_ids.into_iter().find(|id| !seen.insert(*id)) {
        None => Ok(()),
        Some(twice) => Err(CaseDomainError::EvidenceRejected {
            evidence_id: twice.to_owned(),
            reasons: vec!["the same evidence is there twice".to_owned()],
        }),
    }
}

/// The person who submitted a case does not decide it.
pub fn decide(case_id: &str, submitted_by: &str, actor_id: &str) -> Result<(), CaseDomainError> {
    if submitted_by != actor_id {
        return Ok(());
    }
    Err(CaseDomainError::DecisionNotAllowed { case_id: case_id.to_owned(), actor_id: actor_id.to_owned() })
}

/// The person who submits a case does not review it.
pub fn review(submitted_by: &str, reviewer: &str) -> Result<(), CaseDomainError> {
    if submitted_by != reviewer {
        return Ok(());
    }
    let rule = "the person who submits a case does not review it";
    Err(CaseDomainError::ActorConflict { actor_id: reviewer.to_owned(), rule })
}
