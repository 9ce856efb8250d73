//! May this attempt act?

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{AttemptId, PastAttempt};
use super::entry::{Entry, Origin, SideEffect, Status};
use super::expiry;
use super::lease::{Lease, lease_until};
use super::outcome::Replay;
use super::transition::{Decision, Transition};
use super::unknown;
use crate::effect::{KindSpec, Policy};
use crate::error::Result;
use crate::fingerprint::FingerprintInput;
use crate::incident::IncidentId;
use crate::operation::OperationKey;
use crate::retry::Jitter;
use crate::time::Timestamp;

/// Someone asks to perform.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The operation.
    pub key: OperationKey,
    /// What is to be performed.
    pub input: FingerprintInput,
    /// The caller's id for this claim.
    pub attempt_id: AttemptId,
    /// The kind's terms.
    pub terms: Arc<KindSpec>,
    /// Where it comes from.
    pub origin: Origin,
    /// Who would hold the lease.
    pub holder: Holder,
    /// The caller's draw.
    pub jitter: Jitter,
}

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    /// Where the attempt runs, for people.
    pub worker: Arc<str>,
    /// The installation whose own `perform` it is; its next life settles what it held. None for a
    /// caller outside the process, whose lease a restart leaves alone.
    pub installation: Option<Arc<str>>,
}

/// The answer to a claim; `L` is what a grant hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim<L = Lease> {
    /// Act, until the deadline.
    Granted(L),
    /// It was done; here is what was recorded.
    Replay(Replay),
    /// Someone else holds a live lease.
    InFlight {
        /// When asking again makes sense.
        retry_after: Duration,
    },
    /// The same id was used for another request; wins over every other answer.
    Conflict,
    /// It is unknown whether it took hold; do not act.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// When the provider is asked next.
        next_ask: Option<Timestamp>,
        /// The incident that a person works on.
        incident: Option<IncidentId>,
    },
    /// Backoff.
    Waiting {
        /// Until when.
        until: Timestamp,
    },
}

impl<L> Claim<L> {
    /// The same answer with its grant in another shape.
    pub fn map_grant<M>(self, shape: impl FnOnce(L) -> M) -> Claim<M> {
        match self {
            Self::Granted(lease) => Claim::Granted(shape(lease)),
            Self::Replay(replay) => Claim::Replay(replay),
            Self::InFlight { retry_after } => Claim::InFlight { retry_after },
            Self::Conflict => Claim::Conflict,
            Self::Unknown { since, next_ask, incident } => Claim::Unknown { since, next_ask, incident },
            Self::Waiting { until } => Claim::Waiting { until },
        }
    }
}

/// Decides a claim. The rule of the ledger: everything else follows from it.
pub fn decide(entry: Option<&Entry>, request: &ClaimRequest, now: Timestamp) -> Result<Decision<Claim>> {
    let Some(entry) = entry else {
        return Ok(grant_first(request, now));
    };
    if !request.input.matches(&entry.fingerprint)? {
        return Ok(Decision::unchanged(Claim::Conflict));
    }
    Ok(match entry.status {
        Status::Completed | Status::FailedFinal => Decision::unchanged(Claim::Replay(Replay::of(entry)?)),
        Status::Unknown => Decision::unchanged(nobody_knows(entry)),
        Status::Released => grant_again(entry, request, now),
        Status::FailedRetryable => decide_retry(entry, request, now)?,
        Status::Started => decide_started(entry, request, now)?,
    })
}

fn decide_started(entry: &Entry, request: &ClaimRequest, now: Timestamp) -> Result<Decision<Claim>> {
    // A caller that asks again under its own attempt id never saw its grant, so it has not acted.
    if entry.attempt_id == request.attempt_id && now < entry.deadline {
        let held = Entry {
            lease_until: lease_until(&request.terms, entry.deadline, now),
            updated_at: entry.touched_at(now),
            ..entry.clone()
        };
        return Ok(Decision::changed(Claim::Granted(Lease::of(&held, now)), Transition::to(held)));
    }
    if !entry.lease_expired(now, request.terms.clock_slack) {
        let expiry = entry.lease_until.plus(request.terms.clock_slack);
        return Ok(Decision::unchanged(Claim::InFlight { retry_after: expiry.since(now) }));
    }
    let expired = expiry::expire(entry, Some(&request.terms), request.jitter, now);
    if expired.entry.status != Status::FailedRetryable {
        return Ok(Decision::changed(nobody_knows(&expired.entry), expired));
    }
    let next = decide_retry(&expired.entry, request, now)?;
    Ok(match next.transition {
        None => Decision::changed(next.answer, expired),
        Some(mut transition) => {
            transition.past = expired.past;
            transition.notes.splice(0..0, expired.notes);
            Decision { answer: next.answer, transition: Some(transition) }
        }
    })
}

fn decide_retry(entry: &Entry, request: &ClaimRequest, now: Timestamp) -> Result<Decision<Claim>> {
    if let Some(until) = entry.next_attempt_at.filter(|at| *at > now) {
        return Ok(Decision::unchanged(Claim::Waiting { until }));
    }
    if entry.escalate_at.is_some_and(|at| at <= now) {
        let ended = expiry::end_waiting(entry, Some(&request.terms), now);
        let settled = ended.entry.is_settled();
        let answer = if settled { Claim::Replay(Replay::of(&ended.entry)?) } else { nobody_knows(&ended.entry) };
        return Ok(Decision::changed(answer, ended));
    }
    if entry.side_effect != SideEffect::Unknown || unknown::may_repeat(entry, &request.terms, now) {
        return Ok(grant_again(entry, request, now));
    }
    // The window has closed, or the present terms are stricter than those it failed under.
    let escalated = unknown::stop_repeating(entry, Some(&request.terms), now);
    Ok(Decision::changed(nobody_knows(&escalated.entry), escalated))
}

fn nobody_knows(entry: &Entry) -> Claim {
    Claim::Unknown {
        since: entry.unknown_since.unwrap_or(entry.updated_at),
        next_ask: entry.next_ask_at,
        incident: entry.incident.clone(),
    }
}

fn grant_first(request: &ClaimRequest, now: Timestamp) -> Decision<Claim> {
    let deadline = now.plus(request.terms.deadline_for);
    let entry = Entry {
        key: request.key.clone(),
        fingerprint: request.input.fingerprint().clone(),
        status: Status::Started,
        contract: request.terms.contract.clone(),
        fence: 1,
        attempt_id: request.attempt_id,
        installation: request.holder.installation.clone(),
        worker: Arc::clone(&request.holder.worker),
        deadline,
        lease_until: lease_until(&request.terms, deadline, now),
        attempts: 1,
        first_attempt_at: now,
        attempt_started_at: now,
        next_attempt_at: None,
        escalate_at: None,
        unknown_since: None,
        next_ask_at: None,
        asks: 0,
        origin: request.origin.clone(),
        result: None,
        evidence_ref: None,
        error_code: None,
        category: None,
        dependency: None,
        side_effect: SideEffect::NotApplied,
        recorded: None,
        settled_by: None,
        approved_by: None,
        incident: None,
        created_at: now,
        updated_at: now,
        completed_at: None,
    };
    Decision::changed(Claim::Granted(Lease::of(&entry, now)), Transition::to(entry))
}

/// Grants an operation that was attempted before; only here does the fence rise.
fn grant_again(entry: &Entry, request: &ClaimRequest, now: Timestamp) -> Decision<Claim> {
    let deadline = now.plus(request.terms.deadline_for);
    let nothing_sent_yet = entry.side_effect == SideEffect::NotApplied;
    let granted = Entry {
        status: Status::Started,
        contract: request.terms.contract_for(&entry.contract),
        fence: entry.fence + 1,
        attempt_id: request.attempt_id,
        installation: request.holder.installation.clone(),
        worker: Arc::clone(&request.holder.worker),
        deadline,
        lease_until: lease_until(&request.terms, deadline, now),
        attempts: entry.attempts + 1,
        // The provider's memory runs from the first attempt that may have reached it.
        first_attempt_at: if nothing_sent_yet && same_key(entry) { now } else { entry.first_attempt_at },
        attempt_started_at: now,
        next_attempt_at: None,
        escalate_at: None,
        unknown_since: None,
        next_ask_at: None,
        asks: 0,
        result: None,
        error_code: None,
        category: None,
        dependency: None,
        recorded: None,
        settled_by: None,
        approved_by: None,
        updated_at: now,
        ..entry.clone()
    };
    let lease = Lease::of(&granted, now);
    let transition = Transition::to(granted);
    // Whatever ended the attempt in silence wrote its row already; one that reported is in the entry alone.
    let transition = if entry.recorded.is_some() { transition.past(PastAttempt::recorded(entry)) } else { transition };
    Decision::changed(Claim::Granted(lease), transition)
}

fn same_key(entry: &Entry) -> bool {
    matches!(entry.contract.policy(), Policy::SameKey { .. })
}
