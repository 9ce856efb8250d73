//! An attempt says that nothing was sent.

use std::sync::Arc;

use super::attempt::{Attempt, AttemptId, Ending};
use super::entry::{Entry, SettledBy, SideEffect, Status};
use super::transition::{Decision, Transition};
use super::unknown;
use crate::effect::Terms;
use crate::incident::IncidentChange;
use crate::operation::OperationKey;
use crate::time::Timestamp;

/// A holder gives its grant back, not having acted.
#[derive(Debug, Clone)]
pub struct ReleaseRequest {
    /// The operation.
    pub key: OperationKey,
    /// The fence of the grant.
    pub fence: u64,
    /// The attempt of the grant.
    pub attempt_id: AttemptId,
    /// The kind's terms.
    pub terms: Arc<Terms>,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// The operation may be claimed again; the row and its history stay.
    Released,
    /// It was over before: recorded, superseded or resolved. Nothing changed.
    Ended,
    /// This fence was never granted to this attempt.
    NeverGranted,
}

/// Decides a release.
pub fn release(entry: Option<&Entry>, request: &ReleaseRequest, now: Timestamp) -> Decision<Released> {
    let Some(entry) = entry.filter(|entry| request.fence <= entry.fence) else {
        return Decision::unchanged(Released::NeverGranted);
    };
    if request.fence < entry.fence {
        return Decision::unchanged(Released::Ended);
    }
    if entry.attempt_id != request.attempt_id {
        return Decision::unchanged(Released::NeverGranted);
    }
    match entry.status {
        Status::Started => Decision::changed(Released::Released, give_back(entry, request, now)),
        // Lost for a while, and nothing was sent: as good as never granted, if it was the only attempt.
        Status::Unknown | Status::FailedRetryable
            if entry.recorded.is_none() && entry.settled_by.is_none() && entry.attempts == 1 =>
        {
            let sent_nothing = Entry { side_effect: SideEffect::NotApplied, ..entry.clone() };
            Decision::changed(Released::Released, give_back(&sent_nothing, request, now))
        }
        Status::Released | Status::FailedRetryable
            if entry.settled_by == Some(SettledBy::Holder) && entry.recorded.is_none() =>
        {
            Decision::unchanged(Released::Released)
        }
        Status::Unknown | Status::FailedRetryable | Status::Released | Status::Completed | Status::FailedFinal => {
            Decision::unchanged(Released::Ended)
        }
    }
}

fn give_back(entry: &Entry, request: &ReleaseRequest, now: Timestamp) -> Transition {
    // An earlier attempt of which nobody knows the outcome still waits for its repetition.
    let waiting = entry.side_effect == SideEffect::Unknown;
    let given_back = Entry {
        status: if waiting { Status::FailedRetryable } else { Status::Released },
        attempts: entry.attempts.saturating_sub(1),
        next_attempt_at: waiting.then_some(now),
        escalate_at: if waiting { unknown::escalate_at(entry, true, &request.terms.retry) } else { None },
        unknown_since: None,
        next_ask_at: None,
        settled_by: Some(SettledBy::Holder),
        error_code: None,
        category: None,
        updated_at: now,
        ..entry.clone()
    };
    let past = Attempt::of(entry, Ending::Released, now);
    let open = given_back.incident.is_some();
    let transition = Transition::to(given_back).past(past);
    if open { transition.incident(IncidentChange::close_by_evidence(now)) } else { transition }
}
