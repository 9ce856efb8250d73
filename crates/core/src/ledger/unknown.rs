//! What the policy makes of an unknown outcome.
//!
//! Every move into UNKNOWN leaves with an incident or with a time at which the provider is asked.

use std::sync::Arc;

use super::attempt::{AttemptResult, PastAttempt};
use super::entry::{Entry, SideEffect, Status};
use super::transition::{Note, Transition};
use crate::effect::{DuplicateReason, EffectContract, KindSpec, Policy};
use crate::incident::{Incident, IncidentChange, Needs};
use crate::retry::Category;
use crate::retry::{FailedAttempt, Jitter, NextRetry, RetryEnd, RetryTable};
use crate::time::Timestamp;

/// Why it is unknown.
pub(super) struct UnknownCause<'a> {
    pub(super) category: Category,
    pub(super) failure: Option<&'a super::outcome::Failure>,
    pub(super) ending: AttemptResult,
    pub(super) jitter: Jitter,
}

/// The contract that counts: the stricter of the stored and the present one.
pub(super) fn contract(entry: &Entry, terms: Option<&KindSpec>) -> EffectContract {
    terms.map_or_else(|| entry.contract.clone(), |terms| terms.contract_for(&entry.contract))
}

/// The operation after its present attempt ended without anybody knowing how.
pub(super) fn outcome_unknown(
    entry: &Entry,
    terms: Option<&KindSpec>,
    cause: &UnknownCause<'_>,
    now: Timestamp,
) -> Transition {
    let contract = contract(entry, terms);
    let failed = Entry {
        contract: contract.clone(),
        side_effect: SideEffect::Unknown,
        error_code: Some(cause.failure.map_or_else(|| cause.category.code().name(), |failure| failure.code.clone())),
        category: Some(cause.category),
        dependency: cause
            .failure
            .and_then(|failure| failure.dependency.clone())
            .or_else(|| terms.and_then(|terms| terms.dependency.clone())),
        updated_at: now,
        ..entry.clone()
    };
    let past = PastAttempt { last_alive_at: entry.updated_at, ..PastAttempt::of(&failed, cause.ending, now) };
    let next = match contract.policy() {
        Policy::Rerun => repeat(failed, terms, cause, now),
        Policy::AcceptDuplicate { because } => accept(repeat(failed, terms, cause, now), because),
        Policy::SameKey { .. } if remembered(&failed, terms, now) => repeat(failed, terms, cause, now),
        Policy::Void if !voids_the_sent_key(entry) => escalate(failed, entry, Needs::Reconciliation, OTHER_KEY, now),
        Policy::Ask { .. } | Policy::Void => reconcile(failed, now),
        Policy::SameKey { .. } => {
            escalate(failed, entry, Needs::Reconciliation, "the provider may have forgotten the key", now)
        }
        Policy::Escalate | Policy::InTransaction => {
            let detail = cause.failure.and_then(|failure| failure.detail.as_deref());
            escalate_with(failed, entry, Needs::Reconciliation, "a repetition is not declared safe", detail, now)
        }
    };
    next.past(past)
}

/// Whether an operation with an unknown effect may be attempted again at all.
pub(super) fn may_repeat(entry: &Entry, terms: &KindSpec, now: Timestamp) -> bool {
    match contract(entry, Some(terms)).policy() {
        Policy::Rerun | Policy::AcceptDuplicate { .. } => true,
        Policy::SameKey { .. } => remembered(entry, Some(terms), now),
        Policy::Ask { .. } | Policy::Void | Policy::Escalate | Policy::InTransaction => false,
    }
}

/// The operation once it may no longer be repeated: asked about where the policy says so, else escalated.
pub(super) fn stop_repeating(entry: &Entry, terms: Option<&KindSpec>, now: Timestamp) -> Transition {
    let contract = contract(entry, terms);
    let stopped = Entry { contract: contract.clone(), updated_at: now, ..entry.clone() };
    match contract.policy() {
        Policy::Void if !voids_the_sent_key(entry) => escalate(stopped, entry, Needs::Reconciliation, OTHER_KEY, now),
        Policy::Ask { .. } | Policy::Void => reconcile(stopped, now),
        Policy::Rerun
        | Policy::AcceptDuplicate { .. }
        | Policy::SameKey { .. }
        | Policy::Escalate
        | Policy::InTransaction => {
            escalate(stopped, entry, Needs::Reconciliation, "another attempt is no longer safe", now)
        }
    }
}

const OTHER_KEY: &str = "it was attempted under another policy, with a key that `void` would not name";

/// Whether the key that `void` derives from the policy is the one that the attempt sent: a policy that became
/// `void` after a later grant would void a key that was never sent, and its "no" would mean nothing.
fn voids_the_sent_key(entry: &Entry) -> bool {
    matches!(entry.contract.policy(), Policy::Void) || entry.fence == 1
}

/// Whether the provider still knows the key when an attempt that starts now ends.
fn remembered(entry: &Entry, terms: Option<&KindSpec>, now: Timestamp) -> bool {
    let contract = contract(entry, terms);
    let deadline_for = terms.map_or_else(|| entry.deadline.since(entry.attempt_started_at), |terms| terms.deadline_for);
    match contract.policy() {
        Policy::SameKey { provider_memory } => now.plus(deadline_for) < entry.first_attempt_at.plus(*provider_memory),
        Policy::Rerun
        | Policy::AcceptDuplicate { .. }
        | Policy::Ask { .. }
        | Policy::Void
        | Policy::Escalate
        | Policy::InTransaction => false,
    }
}

/// Tells why a second effect is accepted, where one is.
fn accept(repeated: Transition, because: &DuplicateReason) -> Transition {
    let Entry { status, updated_at, fence, .. } = repeated.entry;
    if status != Status::FailedRetryable {
        return repeated;
    }
    repeated.note(Note {
        at: updated_at,
        who: Arc::from("policy"),
        what: Arc::from("may be performed again: a second effect is accepted"),
        why: Some(because.shared()),
        fence,
    })
}

fn repeat(failed: Entry, terms: Option<&KindSpec>, cause: &UnknownCause<'_>, now: Timestamp) -> Transition {
    let default_table = RetryTable::default();
    let table = terms.map_or(&default_table, |terms| &terms.retry);
    let attempt = FailedAttempt {
        category: cause.category,
        used: failed.attempts,
        retry_after: cause.failure.and_then(|failure| failure.retry_after),
        first_attempt_at: failed.first_attempt_at,
        now,
        jitter: cause.jitter,
    };
    match table.next(&attempt) {
        NextRetry::At(at) => {
            let escalate_at = escalate_at(&failed, true, table);
            Transition::to(Entry { status: Status::FailedRetryable, next_attempt_at: Some(at), escalate_at, ..failed })
        }
        NextRetry::Over(why) => over(failed, why, now),
    }
}

/// When somebody must look at an operation that waits for an attempt which may never come.
pub(super) fn escalate_at(failed: &Entry, effect_unknown: bool, table: &RetryTable) -> Option<Timestamp> {
    let by_memory = match failed.contract.policy() {
        Policy::SameKey { provider_memory } if effect_unknown => Some(failed.first_attempt_at.plus(*provider_memory)),
        Policy::SameKey { .. }
        | Policy::Rerun
        | Policy::AcceptDuplicate { .. }
        | Policy::Ask { .. }
        | Policy::Void
        | Policy::Escalate
        | Policy::InTransaction => None,
    };
    by_memory.into_iter().chain(table.escalate_at(failed.first_attempt_at)).min()
}

fn over(failed: Entry, why: RetryEnd, now: Timestamp) -> Transition {
    let before = failed.clone();
    escalate(failed, &before, Needs::Reconciliation, why.as_str(), now)
}

fn reconcile(entry: Entry, now: Timestamp) -> Transition {
    Transition::to(Entry {
        status: Status::Unknown,
        unknown_since: Some(entry.unknown_since.unwrap_or(now)),
        next_attempt_at: None,
        escalate_at: None,
        next_ask_at: Some(now),
        asks: 0,
        ..entry
    })
}

/// UNKNOWN with its incident, in one commit.
pub(super) fn escalate(entry: Entry, before: &Entry, needs: Needs, why: &str, now: Timestamp) -> Transition {
    escalate_with(entry, before, needs, why, None, now)
}

/// The same, with what the attempt itself said of its end.
fn escalate_with(
    entry: Entry,
    before: &Entry,
    needs: Needs,
    why: &str,
    detail: Option<&str>,
    now: Timestamp,
) -> Transition {
    let unknown = Entry {
        status: Status::Unknown,
        unknown_since: Some(entry.unknown_since.unwrap_or(now)),
        next_attempt_at: None,
        escalate_at: None,
        next_ask_at: None,
        ..entry
    };
    let incident = Incident::of_unknown(&unknown, before, needs, (why, detail), now);
    Transition::to(Entry { incident: Some(incident.id.clone()), ..unknown }).incident(IncidentChange::raise(incident))
}
