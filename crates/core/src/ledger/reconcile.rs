//! What the provider answered: find out (`ask`) or make sure (`void`).

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{AttemptResult, PastAttempt};
use super::entry::{Entry, SettledBy, SideEffect, Status, named};
use super::outcome::Completion;
use super::transition::{Decision, Note, Transition};
use super::unknown;
use crate::effect::{EffectClass, KindSpec, Policy};
use crate::incident::{IncidentChange, Needs};
use crate::operation::OperationKey;
use crate::retry::Schedule;
use crate::time::Timestamp;

named! {
    /// What the provider was asked.
    Question {
        /// Did it take hold?
        Ask = "ask",
        /// Refuse this key from now on.
        Void = "void",
    }
}

/// What the provider answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconcilerAnswer {
    /// It took hold.
    TookHold(Completion),
    /// To `ask`: there is no such effect. To `void`: there is none, and there never will be.
    DidNot,
    /// It cannot tell, or did not answer.
    CannotTell,
    /// Ask again after this long.
    Later(Duration),
}

/// An answer on its way into the ledger.
#[derive(Debug, Clone)]
pub struct ReconcileRequest {
    /// The operation.
    pub key: OperationKey,
    /// The fence it was asked about.
    pub fence: u64,
    /// What was asked.
    pub question: Question,
    /// What was answered.
    pub answer: ReconcilerAnswer,
    /// When the question was put, by the store's clock.
    pub asked_at: Timestamp,
    /// The kind's terms.
    pub terms: Arc<KindSpec>,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconciled {
    /// It took hold: COMPLETED.
    TookHold,
    /// It did not: claimable again.
    Released,
    /// Asked again at this time.
    AskAgain(Timestamp),
    /// A person is asked.
    Escalated,
    /// The operation moved on meanwhile.
    Stale,
}

/// Decides what an answer changes.
pub fn reconcile(entry: Option<&Entry>, request: &ReconcileRequest, now: Timestamp) -> Decision<Reconciled> {
    let Some(entry) = entry.filter(|entry| entry.fence == request.fence && entry.status == Status::Unknown) else {
        return Decision::unchanged(Reconciled::Stale);
    };
    let contract = unknown::contract(entry, Some(&request.terms));
    match &request.answer {
        ReconcilerAnswer::TookHold(completion)
            if contract.class() != EffectClass::FinancialOrLegal || completion.evidence.is_some() =>
        {
            took_hold(entry, completion, request, now)
        }
        ReconcilerAnswer::DidNot => match (contract.policy(), request.question) {
            (Policy::Ask { settle }, Question::Ask) => did_not(entry, *settle, request, now),
            (_, Question::Void) => release(entry, request, now),
            (_, Question::Ask) => ask_again(entry, None, request, now),
        },
        ReconcilerAnswer::TookHold(_) | ReconcilerAnswer::CannotTell => ask_again(entry, None, request, now),
        ReconcilerAnswer::Later(wait) => ask_again(entry, Some(*wait), request, now),
    }
}

/// "No" counts only when it was asked `settle` after the last deadline: a request may still be on its way.
fn did_not(entry: &Entry, settle: Duration, request: &ReconcileRequest, now: Timestamp) -> Decision<Reconciled> {
    let believed_from = entry.deadline.plus(settle).plus(request.terms.clock_slack);
    if request.asked_at >= believed_from {
        return release(entry, request, now);
    }
    let waiting = Entry { next_ask_at: Some(believed_from), updated_at: now, ..entry.clone() };
    Decision::changed(Reconciled::AskAgain(believed_from), Transition::to(waiting))
}

fn took_hold(
    entry: &Entry,
    completion: &Completion,
    request: &ReconcileRequest,
    now: Timestamp,
) -> Decision<Reconciled> {
    let result = completion.result.clone().within(request.terms.result_bytes_max, completion.evidence.as_ref());
    let completed = Entry {
        status: Status::Completed,
        result: Some(result),
        evidence_ref: completion.evidence.clone(),
        side_effect: SideEffect::Applied,
        error_code: None,
        category: None,
        completed_at: Some(now),
        ..settled(entry, request.question, now)
    };
    Decision::changed(Reconciled::TookHold, close(completed, entry, request, "took hold", now))
}

fn release(entry: &Entry, request: &ReconcileRequest, now: Timestamp) -> Decision<Reconciled> {
    let released = Entry {
        status: Status::Released,
        side_effect: SideEffect::NotApplied,
        error_code: None,
        category: None,
        ..settled(entry, request.question, now)
    };
    Decision::changed(Reconciled::Released, close(released, entry, request, "did not happen", now))
}

fn settled(entry: &Entry, question: Question, now: Timestamp) -> Entry {
    Entry {
        settled_by: Some(match question {
            Question::Ask => SettledBy::Ask,
            Question::Void => SettledBy::Void,
        }),
        unknown_since: None,
        next_ask_at: None,
        asks: 0,
        updated_at: now,
        ..entry.clone()
    }
}

fn close(settled: Entry, before: &Entry, request: &ReconcileRequest, what: &str, now: Timestamp) -> Transition {
    let note = note(before, request.question, what, now);
    let past = PastAttempt {
        last_alive_at: before.attempt_started_at,
        ..PastAttempt::of(before, AttemptResult::Expired, now)
    };
    let open = before.incident.is_some();
    let transition = Transition::to(settled).note(note);
    let transition = if before.recorded.is_some() { transition } else { transition.past(past) };
    if open { transition.incident(IncidentChange::close_by_evidence(now)) } else { transition }
}

fn ask_again(
    entry: &Entry,
    wait: Option<Duration>,
    request: &ReconcileRequest,
    now: Timestamp,
) -> Decision<Reconciled> {
    let schedule = &request.terms.ask_schedule;
    let asked = Entry { asks: entry.asks + 1, updated_at: now, ..entry.clone() };
    if let Some(step) = schedule.get(entry.asks as usize) {
        let at = now.plus(wait.unwrap_or(*step).min(Schedule::WAIT_MAX));
        let waiting = Entry { next_ask_at: Some(at), ..asked };
        return Decision::changed(Reconciled::AskAgain(at), Transition::to(waiting));
    }
    let note = note(entry, request.question, "the provider could not tell; a person is asked", now);
    let why = "the provider could not tell";
    let transition = unknown::escalate(asked, entry, Needs::Reconciliation, why, now).note(note);
    Decision::changed(Reconciled::Escalated, transition)
}

fn note(entry: &Entry, question: Question, what: &str, now: Timestamp) -> Note {
    Note { at: now, who: Arc::from(question.as_str()), what: Arc::from(what), why: None, fence: entry.fence }
}
