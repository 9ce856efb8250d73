//! A grant goes back: its holder says that nothing was sent, or its answer was never handed over.

use std::sync::Arc;

use super::attempt::{AttemptId, AttemptResult, PastAttempt};
use super::entry::{Entry, SettledBy, SideEffect, Status};
use super::transition::{Decision, Transition};
use super::unknown;
use crate::effect::KindSpec;
use crate::incident::IncidentChange;
use crate::operation::OperationKey;
use crate::time::Timestamp;

/// A grant is to go back.
#[derive(Debug, Clone)]
pub struct ReleaseRequest {
    /// The operation.
    pub key: OperationKey,
    /// The fence of the grant.
    pub fence: u64,
    /// The attempt of the grant.
    pub attempt_id: AttemptId,
    /// The kind's terms.
    pub terms: Arc<KindSpec>,
    /// On whose word.
    pub reason: ReleaseReason,
}

/// On whose word a grant goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReleaseReason {
    /// The holder's own: it heard the grant and sent nothing.
    NothingSent,
    /// Ours: an answer that granted it was never handed to its caller. The same grant may have been
    /// answered more than once, on another connection or by another server, and one of those answers
    /// may have been heard.
    AnswerUndelivered,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// The operation may be claimed again; the row and its history stay.
    Released,
    /// It was over before: recorded, superseded or resolved. Nothing changed.
    Ended,
    /// The grant stays: its caller may have heard it. The lease ends it if nobody did. Nothing changed.
    MayBeHeard,
    /// This fence was never granted to this attempt.
    NeverGranted,
}

/// Decides a release. `past` is the kept attempt of the request's fence, where there is one.
pub fn release(
    entry: Option<&Entry>,
    past: Option<&PastAttempt>,
    request: &ReleaseRequest,
    now: Timestamp,
) -> Decision<Released> {
    let Some(entry) = entry.filter(|entry| request.fence <= entry.fence) else {
        return Decision::unchanged(Released::NeverGranted);
    };
    if request.fence < entry.fence {
        return Decision::unchanged(Released::Ended);
    }
    if entry.attempt_id != request.attempt_id {
        return Decision::unchanged(Released::NeverGranted);
    }
    match request.reason {
        ReleaseReason::NothingSent => nothing_sent(entry, past, request, now),
        ReleaseReason::AnswerUndelivered => undelivered(entry, request, now),
    }
}

/// The only answer was not handed over, so nobody can have acted on it. After a second answer, a renewal or
/// an expiry that is not certain any more, and what is not certain is left to the lease.
fn undelivered(entry: &Entry, request: &ReleaseRequest, now: Timestamp) -> Decision<Released> {
    match entry.status {
        Status::Started if entry.answered_once() => {
            Decision::changed(Released::Released, give_back(entry, request, now))
        }
        Status::Started => Decision::unchanged(Released::MayBeHeard),
        Status::Unknown | Status::FailedRetryable | Status::Released | Status::Completed | Status::FailedFinal => {
            Decision::unchanged(Released::Ended)
        }
    }
}

fn nothing_sent(
    entry: &Entry,
    past: Option<&PastAttempt>,
    request: &ReleaseRequest,
    now: Timestamp,
) -> Decision<Released> {
    // Taken for lost, not by its own word: an attempt that has said "unknown" does not take that back.
    let was_silent = past.is_some_and(|past| past.ending == AttemptResult::Expired);
    match entry.status {
        Status::Started => Decision::changed(Released::Released, give_back(entry, request, now)),
        // Lost for a while, and nothing was sent: as good as never granted, if it was the only attempt.
        Status::Unknown | Status::FailedRetryable
            if was_silent && entry.recorded.is_none() && entry.settled_by.is_none() && entry.attempts == 1 =>
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
    // An earlier attempt with an unknown outcome still waits for its repetition.
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
    let ending = match request.reason {
        ReleaseReason::NothingSent => AttemptResult::Released,
        ReleaseReason::AnswerUndelivered => AttemptResult::Unheard,
    };
    let past = PastAttempt::of(entry, ending, now);
    let open = given_back.incident.is_some();
    let transition = Transition::to(given_back).past(past);
    if open { transition.incident(IncidentChange::close_by_evidence(now)) } else { transition }
}
