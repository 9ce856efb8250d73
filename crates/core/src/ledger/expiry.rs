//! A holder that went silent, a retry that is not made, a question that is not asked.

use std::time::Duration;

use super::attempt::AttemptResult;
use super::entry::{Entry, SideEffect, Status};
use super::transition::Transition;
use super::unknown::{self, UnknownCause};
use crate::effect::KindSpec;
use crate::incident::{Incident, IncidentChange, Needs};
use crate::retry::{Category, Jitter, RetryEnd};
use crate::time::Timestamp;

/// A question that no process asked for this long goes to a person.
pub const OVERDUE_FOR: Duration = Duration::from_hours(1);

/// Why the sweeper looks at an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepReason {
    /// Time has passed.
    Expired,
    /// The process that held the lease is proved dead.
    HolderDead,
}

/// What the sweeper brings.
#[derive(Debug, Clone, Copy)]
pub struct Sweep<'a> {
    /// Why it looks.
    pub reason: SweepReason,
    /// The kind's terms, where this process knows them.
    pub terms: Option<&'a KindSpec>,
    /// Added to every expiry test where the terms are not known.
    pub clock_slack: Duration,
    /// The sweeper's draw.
    pub jitter: Jitter,
}

/// What time does to an entry: nothing, or a move that some policy asks for.
pub fn sweep(entry: &Entry, sweep: &Sweep<'_>, now: Timestamp) -> Option<Transition> {
    match entry.status {
        Status::Started => {
            let slack = sweep.terms.map_or(sweep.clock_slack, |terms| terms.clock_slack);
            let over = sweep.reason == SweepReason::HolderDead || entry.lease_expired(now, slack);
            over.then(|| expire(entry, sweep.terms, sweep.jitter, now))
        }
        Status::FailedRetryable => {
            entry.escalate_at.filter(|at| *at <= now).map(|_| end_waiting(entry, sweep.terms, now))
        }
        Status::Unknown => entry.next_ask_at.filter(|at| at.plus(OVERDUE_FOR) <= now).map(|_| {
            let why = "no running process asks about this kind";
            let asked = Entry { updated_at: now, ..entry.clone() };
            unknown::escalate(asked, entry, Needs::DeploymentFix, why, now)
        }),
        Status::Completed | Status::FailedFinal | Status::Released => None,
    }
}

/// The entry after its holder's lease ended in silence. A backoff runs from when that was noticed.
pub(super) fn expire(entry: &Entry, terms: Option<&KindSpec>, jitter: Jitter, now: Timestamp) -> Transition {
    let cause = UnknownCause { category: Category::HolderLost, failure: None, ending: AttemptResult::Expired, jitter };
    unknown::outcome_unknown(entry, terms, &cause, now)
}

/// Retrying ends by the clock: a known failure is final, an unknown effect stays unknown.
pub(super) fn end_waiting(entry: &Entry, terms: Option<&KindSpec>, now: Timestamp) -> Transition {
    if entry.side_effect == SideEffect::Unknown {
        return unknown::stop_repeating(entry, terms, now);
    }
    exhausted(Entry { updated_at: now, ..entry.clone() }, RetryEnd::TimeIsUp, now)
}

/// Retrying is over and nothing took hold: final, with an incident.
pub(super) fn exhausted(entry: Entry, why: RetryEnd, now: Timestamp) -> Transition {
    let ended = Entry {
        status: Status::FailedFinal,
        next_attempt_at: None,
        escalate_at: None,
        completed_at: Some(now),
        ..entry
    };
    let incident = Incident::of_exhausted(&ended, why, now);
    Transition::to(Entry { incident: Some(incident.id.clone()), ..ended }).incident(IncidentChange::raise(incident))
}
