//! What an attempt says happened.

use std::sync::Arc;

use super::attempt::{AttemptId, AttemptResult, PastAttempt};
use super::entry::{Entry, SettledBy, SideEffect, Status};
use super::expiry::exhausted;
use super::outcome::{Completion, Failure, Outcome};
use super::timeline::keep_line;
use super::transition::{Decision, Note, Transition};
use super::unknown::{self, UnknownCause};
use crate::effect::{EffectClass, KindSpec, Policy};
use crate::incident::{Incident, IncidentChange, IncidentId, Needs};
use crate::operation::OperationKey;
use crate::retry::{Category, FailedAttempt, Jitter, NextRetry, RetryEnd};
use crate::time::Timestamp;

/// An attempt reports.
#[derive(Debug, Clone)]
pub struct RecordRequest {
    /// The operation.
    pub key: OperationKey,
    /// The fence of the grant.
    pub fence: u64,
    /// The attempt of the grant.
    pub attempt_id: AttemptId,
    /// What it says happened.
    pub outcome: Outcome,
    /// The kind's terms.
    pub terms: Arc<KindSpec>,
    /// The holder's draw.
    pub jitter: Jitter,
}

/// The answer to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It is recorded; this is the operation's state now.
    Settled {
        /// Its state.
        status: Status,
        /// When the next attempt may start.
        next_attempt_at: Option<Timestamp>,
    },
    /// This outcome, or one that says the same, was recorded before.
    Already {
        /// Its state.
        status: Status,
    },
    /// It does not change what is recorded.
    Refused(Refusal),
}

/// Why a record changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No such grant.
    NeverGranted,
    /// The grant went to another attempt.
    NotYours,
    /// Another attempt was granted since; kept as late evidence.
    Superseded {
        /// The incident, where a second effect is suspected.
        incident: Option<IncidentId>,
    },
    /// It contradicts what was recorded or decided; kept as late evidence.
    OtherOutcome {
        /// The incident that it opened.
        incident: Option<IncidentId>,
    },
    /// A financial or legal effect needs a reference to its evidence.
    EvidenceRequired,
}

/// Decides a record. `past` is the kept attempt of the request's fence, where there is one.
pub fn record(
    entry: Option<&Entry>,
    past: Option<&PastAttempt>,
    request: &RecordRequest,
    now: Timestamp,
) -> Decision<Recorded> {
    let refused = |refusal| Decision::unchanged(Recorded::Refused(refusal));
    let Some(entry) = entry.filter(|entry| request.fence <= entry.fence) else {
        return refused(Refusal::NeverGranted);
    };
    if request.fence < entry.fence {
        return match past {
            None => refused(Refusal::NeverGranted),
            Some(past) if past.attempt_id != request.attempt_id => refused(Refusal::NotYours),
            Some(past) => record_late(entry, past, request, now),
        };
    }
    if !entry.held_by(request.fence, request.attempt_id) {
        return refused(Refusal::NotYours);
    }
    if lacks_evidence(entry, request) {
        return refused(Refusal::EvidenceRequired);
    }
    record_held(entry, past, request, now)
}

fn lacks_evidence(entry: &Entry, request: &RecordRequest) -> bool {
    let class = entry.contract.class().max(request.terms.contract.class());
    class == EffectClass::FinancialOrLegal
        && matches!(&request.outcome, Outcome::Completed(Completion { evidence: None, .. }))
}

/// A record by the attempt that still holds the fence.
fn record_held(
    entry: &Entry,
    past: Option<&PastAttempt>,
    request: &RecordRequest,
    now: Timestamp,
) -> Decision<Recorded> {
    let outcome = &request.outcome;
    if entry.recorded.is_some_and(|recorded| recorded == outcome.digest()) {
        return Decision::unchanged(Recorded::Already { status: entry.status });
    }
    let tells_nothing = matches!(outcome, Outcome::Unknown(_));
    match entry.status {
        Status::Started => settled(apply(entry, request, now)),
        Status::Unknown | Status::FailedRetryable if entry.recorded.is_none() => {
            if tells_nothing {
                acknowledge(entry, past, outcome, now)
            } else {
                settled(apply(entry, request, now))
            }
        }
        // Settled by the provider's answer or by a person; what the attempt itself says is kept beside that.
        Status::Completed | Status::FailedFinal if entry.recorded.is_none() => {
            if tells_nothing || agrees(entry, outcome) {
                acknowledge(entry, past, outcome, now)
            } else {
                contradict(entry, past, request, entry.status, now)
            }
        }
        Status::Released => record_released(entry, past, request, now),
        // Claimable, and now said to have taken hold: nobody was granted since, so nobody shall be.
        Status::FailedRetryable if outcome.side_effect() == SideEffect::Applied => {
            contradict(entry, past, request, Status::Unknown, now)
        }
        Status::Unknown | Status::FailedRetryable | Status::Completed | Status::FailedFinal => {
            contradict(entry, past, request, entry.status, now)
        }
    }
}

/// Whether an attempt confirms what was settled without it. Two references are two effects, or a wrong reference.
fn agrees(entry: &Entry, outcome: &Outcome) -> bool {
    let other_evidence = matches!((&entry.evidence_ref, outcome.evidence()), (Some(kept), Some(said)) if kept != said);
    outcome.status() == entry.status && !other_evidence
}

/// The fence still holds, but somebody said that nothing happened.
fn record_released(
    entry: &Entry,
    past: Option<&PastAttempt>,
    request: &RecordRequest,
    now: Timestamp,
) -> Decision<Recorded> {
    let provider_said_no = matches!(entry.settled_by, Some(SettledBy::Ask | SettledBy::Void));
    let holder_said_no = entry.settled_by == Some(SettledBy::Holder);
    match &request.outcome {
        Outcome::Completed(_) if provider_said_no => {
            let wrong = entry.settled_by.map_or("the answer", |by| if by == SettledBy::Void { "void" } else { "ask" });
            let note = Note {
                at: now,
                who: Arc::from(wrong),
                what: Arc::from("the answer \"did not happen\" was wrong: the attempt reports that it took hold"),
                why: None,
                fence: entry.fence,
            };
            settled(apply(entry, request, now).note(note))
        }
        Outcome::FailedFinal(_) if provider_said_no => settled(apply(entry, request, now)),
        // Nobody has been granted since, so the contradiction can still be kept from acting twice.
        Outcome::Completed(_) => contradict(entry, past, request, Status::Unknown, now),
        // The same attempt said that nothing was sent: the more careful of its two words counts.
        Outcome::Unknown(_) if holder_said_no => contradict(entry, past, request, Status::Unknown, now),
        Outcome::FailedFinal(_) | Outcome::FailedRetryable(_) | Outcome::Unknown(_) => {
            acknowledge(entry, past, &request.outcome, now)
        }
    }
}

/// Accepts what changes nothing. It is kept all the same: nothing is acknowledged without a trace.
fn acknowledge(entry: &Entry, past: Option<&PastAttempt>, outcome: &Outcome, now: Timestamp) -> Decision<Recorded> {
    let answer = Recorded::Already { status: entry.status };
    if past.is_some_and(|past| past.recorded == Some(outcome.digest())) {
        return Decision::unchanged(answer);
    }
    let standing = Entry { updated_at: now.max(entry.updated_at), ..entry.clone() };
    Decision::changed(answer, keep_late(Transition::to(standing), entry, past, outcome, now))
}

/// Adds what an attempt says after the operation moved on, beside what was known of it before.
fn keep_late(
    transition: Transition,
    entry: &Entry,
    past: Option<&PastAttempt>,
    outcome: &Outcome,
    now: Timestamp,
) -> Transition {
    match past {
        Some(past) => transition.past(past.late(outcome, now)).note(keep_line(past)),
        None => transition.past(PastAttempt::of(entry, AttemptResult::Late, now).late(outcome, now)),
    }
}

fn settled(transition: Transition) -> Decision<Recorded> {
    let answer =
        Recorded::Settled { status: transition.entry.status, next_attempt_at: transition.entry.next_attempt_at };
    Decision::changed(answer, transition)
}

/// Keeps what contradicts the entry as evidence and tells a person.
fn contradict(
    entry: &Entry,
    past: Option<&PastAttempt>,
    request: &RecordRequest,
    status: Status,
    now: Timestamp,
) -> Decision<Recorded> {
    let outcome = &request.outcome;
    let standing = if status == Status::Unknown && entry.status != Status::Unknown {
        Entry {
            status,
            side_effect: SideEffect::Unknown,
            unknown_since: Some(now),
            next_attempt_at: None,
            escalate_at: None,
            recorded: Some(outcome.digest()),
            updated_at: now,
            ..entry.clone()
        }
    } else {
        Entry { updated_at: now, ..entry.clone() }
    };
    let incident = Incident::of_contradiction(&standing, entry.status, outcome, now);
    let id = Some(incident.id.clone());
    let note = Note {
        at: now,
        who: Arc::clone(&entry.worker),
        what: Arc::from(format!("reported {} although the operation was already {}", outcome.status(), entry.status)),
        why: outcome.evidence().cloned(),
        fence: entry.fence,
    };
    let transition =
        Transition::to(Entry { incident: id.clone(), ..standing }).note(note).incident(IncidentChange::raise(incident));
    // Where the attempt reported before, its row is that report.
    let seen = past.is_some_and(|past| past.recorded == Some(outcome.digest()));
    let transition =
        if entry.recorded.is_some() || seen { transition } else { keep_late(transition, entry, past, outcome, now) };
    Decision::changed(Recorded::Refused(Refusal::OtherOutcome { incident: id }), transition)
}

/// A record by an attempt that another one has superseded.
fn record_late(entry: &Entry, past: &PastAttempt, request: &RecordRequest, now: Timestamp) -> Decision<Recorded> {
    if past.recorded == Some(request.outcome.digest()) && past.ending != AttemptResult::Late {
        return Decision::unchanged(Recorded::Already { status: past.status });
    }
    let outcome = &request.outcome;
    let seen_before = past.recorded == Some(outcome.digest());
    let standing = Entry { updated_at: now.max(entry.updated_at), ..entry.clone() };
    let keep = |transition| {
        if seen_before { transition } else { keep_late(transition, entry, Some(past), outcome, now) }
    };
    if outcome.side_effect() != SideEffect::Applied || one_effect(entry, outcome) {
        let answer = Recorded::Refused(Refusal::Superseded { incident: None });
        return if seen_before {
            Decision::unchanged(answer)
        } else {
            Decision::changed(answer, keep(Transition::to(standing)))
        };
    }
    let incident = Incident::of_duplicate(&standing, past, now);
    let id = Some(incident.id.clone());
    let transition =
        Transition::to(Entry { incident: id.clone(), ..standing }).incident(IncidentChange::raise(incident));
    Decision::changed(Recorded::Refused(Refusal::Superseded { incident: id }), keep(transition))
}

/// Whether both attempts speak of one effect: under one key the provider answered both with the same reference.
fn one_effect(entry: &Entry, outcome: &Outcome) -> bool {
    matches!(entry.contract.policy(), Policy::SameKey { .. })
        && entry.status == Status::Completed
        && entry.evidence_ref.is_some()
        && entry.evidence_ref.as_ref() == outcome.evidence()
}

/// The entry after its holder's outcome.
fn apply(entry: &Entry, request: &RecordRequest, now: Timestamp) -> Transition {
    match &request.outcome {
        Outcome::Completed(completion) => complete(entry, completion, request, now),
        Outcome::FailedFinal(failure) if failure.side_effect == SideEffect::NotApplied => {
            fail_final(entry, failure, request, now)
        }
        Outcome::FailedRetryable(failure) if failure.side_effect == SideEffect::NotApplied => {
            fail_retryable(entry, failure, request, now)
        }
        // A failure that may or may not have taken hold is unknown, whatever it calls itself.
        Outcome::Unknown(failure) | Outcome::FailedFinal(failure) | Outcome::FailedRetryable(failure) => {
            let cause = UnknownCause {
                category: failure.category.unwrap_or(Category::Unexpected),
                failure: Some(failure),
                ending: AttemptResult::Recorded,
                jitter: request.jitter,
            };
            let mut transition = unknown::outcome_unknown(entry, Some(&request.terms), &cause, now);
            // The attempt's own word, so that the same again is known, and another one is seen as another.
            if let Some(past) = &mut transition.past {
                past.status = request.outcome.status();
                past.recorded = Some(request.outcome.digest());
            }
            transition
        }
    }
}

fn complete(entry: &Entry, completion: &Completion, request: &RecordRequest, now: Timestamp) -> Transition {
    let result = completion.result.clone().within(request.terms.result_bytes_max, completion.evidence.as_ref());
    let completed = Entry {
        status: Status::Completed,
        result: Some(result),
        evidence_ref: completion.evidence.clone(),
        error_code: None,
        category: None,
        dependency: None,
        side_effect: SideEffect::Applied,
        completed_at: Some(now),
        ..recorded(entry, request, now)
    };
    close_by_evidence(completed, now)
}

fn fail_final(entry: &Entry, failure: &Failure, request: &RecordRequest, now: Timestamp) -> Transition {
    // Under one key the provider's own answer judges every attempt; a technical failure judges only its own.
    let answered_under_one_key =
        failure.category.is_none() && matches!(entry.contract.policy(), Policy::SameKey { .. });
    let judged_all = answered_under_one_key || !earlier_unknown(entry);
    let failed = Entry {
        status: Status::FailedFinal,
        side_effect: if judged_all { SideEffect::NotApplied } else { SideEffect::Unknown },
        completed_at: judged_all.then_some(now),
        ..failed(entry, failure, request, now)
    };
    if !judged_all {
        let before = entry.clone();
        return unknown::escalate(
            failed,
            &before,
            Needs::Reconciliation,
            "an earlier attempt may have taken hold",
            now,
        );
    }
    if failure.category.is_some() {
        let incident = Incident::of_failure(&failed, failure, now);
        return Transition::to(Entry { incident: Some(incident.id.clone()), ..failed })
            .incident(IncidentChange::raise(incident));
    }
    close_by_evidence(failed, now)
}

fn fail_retryable(entry: &Entry, failure: &Failure, request: &RecordRequest, now: Timestamp) -> Transition {
    let sticky = earlier_unknown(entry);
    let failed = Entry {
        side_effect: if sticky { SideEffect::Unknown } else { SideEffect::NotApplied },
        ..failed(entry, failure, request, now)
    };
    let repeatable =
        matches!(failed.contract.policy(), Policy::Rerun | Policy::AcceptDuplicate { .. } | Policy::SameKey { .. });
    if sticky && !repeatable {
        return unknown::stop_repeating(&failed, Some(&request.terms), now);
    }
    let attempt = FailedAttempt {
        category: failure.category.unwrap_or(Category::Unexpected),
        used: entry.attempts,
        retry_after: failure.retry_after,
        first_attempt_at: entry.first_attempt_at,
        now,
        jitter: request.jitter,
    };
    match request.terms.retry.next(&attempt) {
        NextRetry::At(at) => {
            let waiting = Entry {
                status: Status::FailedRetryable,
                next_attempt_at: Some(at),
                escalate_at: unknown::escalate_at(entry, sticky, &request.terms.retry),
                ..failed
            };
            close_by_evidence(waiting, now)
        }
        NextRetry::Over(why) if sticky => over_unknown(failed, entry, why, now),
        NextRetry::Over(why) => exhausted(failed, why, now),
    }
}

fn over_unknown(failed: Entry, before: &Entry, why: RetryEnd, now: Timestamp) -> Transition {
    unknown::escalate(failed, before, Needs::Reconciliation, why.as_str(), now)
}

/// Whether an attempt before the present one may have taken hold.
fn earlier_unknown(entry: &Entry) -> bool {
    // While an attempt is in flight the entry speaks of earlier ones only. Afterwards it speaks of
    // all of them, so a lone attempt that was merely lost does not count against itself.
    entry.side_effect == SideEffect::Unknown && (entry.status == Status::Started || entry.attempts > 1)
}

fn recorded(entry: &Entry, request: &RecordRequest, now: Timestamp) -> Entry {
    Entry {
        contract: request.terms.contract_for(&entry.contract),
        recorded: Some(request.outcome.digest()),
        settled_by: Some(SettledBy::Holder),
        next_attempt_at: None,
        escalate_at: None,
        unknown_since: None,
        next_ask_at: None,
        updated_at: now,
        ..entry.clone()
    }
}

fn failed(entry: &Entry, failure: &Failure, request: &RecordRequest, now: Timestamp) -> Entry {
    Entry {
        error_code: Some(failure.code.clone()),
        category: failure.category,
        dependency: failure.dependency.clone().or_else(|| request.terms.dependency.clone()),
        result: failure.result.clone().map(|result| result.within(request.terms.result_bytes_max, None)),
        ..recorded(entry, request, now)
    }
}

fn close_by_evidence(entry: Entry, now: Timestamp) -> Transition {
    let open = entry.incident.is_some();
    let transition = Transition::to(entry);
    if open { transition.incident(IncidentChange::close_by_evidence(now)) } else { transition }
}
