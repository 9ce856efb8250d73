//! What a person decides.

use std::sync::Arc;
use std::time::Duration;

use super::entry::{Entry, SettledBy, SideEffect, Status, bounded};
use super::outcome::{Completion, Outcome};
use super::transition::{Decision, Note, Transition};
use super::unknown;
use crate::effect::{EffectClass, KindSpec, Policy};
use crate::error::{CodeName, Error, LIMIT_EXCEEDED, RESOLUTION_REFUSED, Result};
use crate::incident::IncidentChange;
use crate::operation::OperationKey;
use crate::time::Timestamp;

/// What a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// Attempt it again; only where nothing took hold.
    Retry,
    /// Ask the provider now.
    AskNow,
    /// Settle it.
    Resolve(Resolution),
}

/// What a person found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// It took hold, with this result or reference.
    TookHold(Completion),
    /// It did not happen; may be claimed again.
    DidNotHappen {
        /// Before `settle` has passed, this is said with force.
        force: bool,
    },
    /// It failed for good.
    Failed(CodeName),
}

/// A verb with who says it, why, and what they saw.
#[derive(Debug, Clone)]
pub struct ResolveRequest {
    /// The operation.
    pub key: OperationKey,
    /// The fence they saw.
    pub fence: u64,
    /// The status they saw.
    pub status: Status,
    /// What they ask for.
    pub verb: Verb,
    /// Who they are, from their credential.
    pub who: Arc<str>,
    /// Why.
    pub why: Arc<str>,
    /// The kind's terms, where this process knows them.
    pub terms: Option<Arc<KindSpec>>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// Done; this is the operation's state now.
    Done(Status),
    /// Noted; a second person must say the same.
    NeedsSecondPerson,
}

impl ResolveRequest {
    /// Refuses a verb without a reason, or texts over their limit.
    pub fn checked(&self) -> Result<()> {
        check_reason(&self.why)?;
        if self.who.trim().is_empty() {
            return Err(Error::new(LIMIT_EXCEEDED, "a verb needs the name of the person who decides"));
        }
        bounded("name", Some(&self.who), 100)?;
        self.verb.checked()
    }
}

impl Verb {
    /// Its name in commands and addresses.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::AskNow => "ask",
            Self::Resolve(_) => "resolve",
        }
    }

    /// Refuses texts over their limit.
    pub fn checked(&self) -> Result<()> {
        match self {
            Self::Resolve(Resolution::TookHold(completion)) => Outcome::Completed(completion.clone()).checked(),
            Self::Resolve(Resolution::DidNotHappen { .. } | Resolution::Failed(_)) | Self::Retry | Self::AskNow => {
                Ok(())
            }
        }
    }
}

/// Refuses a reason that is blank or longer than 500 bytes.
pub fn check_reason(why: &str) -> Result<()> {
    if why.trim().is_empty() {
        return Err(Error::new(LIMIT_EXCEEDED, "a verb needs a reason")
            .hint("say why in a sentence; it is kept in the timeline"));
    }
    bounded("reason", Some(why), 500)
}

/// Decides a person's verb. Refused with the reason where the rule or the present state forbids it.
pub fn resolve(entry: Option<&Entry>, request: &ResolveRequest, now: Timestamp) -> Result<Decision<Resolved>> {
    request.checked()?;
    let Some(entry) = entry.filter(|entry| entry.fence == request.fence && entry.status == request.status) else {
        return Err(refused("the operation changed since it was looked at"));
    };
    if entry.status == Status::Started {
        return Err(refused("its lease is live: the attempt may still be acting"));
    }
    match &request.verb {
        Verb::Retry => retry(entry, request, now),
        Verb::AskNow => ask_now(entry, request, now),
        Verb::Resolve(resolution) => settle(entry, resolution, request, now),
    }
}

fn refused(why: &str) -> Error {
    Error::new(RESOLUTION_REFUSED, why)
}

fn retry(entry: &Entry, request: &ResolveRequest, now: Timestamp) -> Result<Decision<Resolved>> {
    if entry.side_effect != SideEffect::NotApplied {
        return Err(refused("a retry is not safe: an attempt may have taken hold")
            .hint("find out first, then resolve: took hold, did not happen, or failed"));
    }
    match (entry.status, entry.category) {
        (Status::FailedFinal, Some(_)) | (Status::FailedRetryable, _) => {
            Ok(done(released(entry, now), request, "retry", now))
        }
        (Status::FailedFinal, None) => Err(refused("the provider said no, for good; a new request is a new operation")),
        (Status::Started | Status::Completed | Status::Unknown | Status::Released, _) => {
            Err(refused(&format!("there is nothing to retry in {}", entry.status)))
        }
    }
}

fn ask_now(entry: &Entry, request: &ResolveRequest, now: Timestamp) -> Result<Decision<Resolved>> {
    let contract = unknown::contract(entry, request.terms.as_deref());
    if entry.status != Status::Unknown || !matches!(contract.policy(), Policy::Ask { .. } | Policy::Void) {
        return Err(refused("there is nothing to ask: it is not UNKNOWN, or its kind declares neither ask nor void"));
    }
    let asked = Entry { next_ask_at: Some(now), updated_at: now, ..entry.clone() };
    let status = asked.status;
    let transition = Transition::to(asked).note(note(request, "ask now", now));
    Ok(Decision::changed(Resolved::Done(status), transition))
}

fn settle(
    entry: &Entry,
    resolution: &Resolution,
    request: &ResolveRequest,
    now: Timestamp,
) -> Result<Decision<Resolved>> {
    let open_question = entry.status == Status::Unknown
        || (entry.status == Status::FailedRetryable && entry.side_effect == SideEffect::Unknown);
    let confirms = match resolution {
        Resolution::TookHold(_) => entry.status == Status::Completed,
        Resolution::Failed(_) => entry.status == Status::FailedFinal,
        Resolution::DidNotHappen { .. } => false,
    };
    if confirms && entry.incident.is_some() {
        let looked_at = Entry { updated_at: now, ..entry.clone() };
        return Ok(done(looked_at, request, "confirmed as recorded", now));
    }
    if !open_question {
        return Err(refused(&format!("{} has no open question", entry.status)));
    }
    match resolution {
        Resolution::TookHold(completion) => took_hold(entry, completion, request, now),
        Resolution::DidNotHappen { force } => did_not_happen(entry, *force, request, now),
        Resolution::Failed(code) => {
            let failed = Entry {
                status: Status::FailedFinal,
                error_code: Some(code.clone()),
                category: None,
                side_effect: SideEffect::NotApplied,
                completed_at: Some(now),
                ..settled(entry, now)
            };
            Ok(done(failed, request, "resolved: failed", now))
        }
    }
}

fn took_hold(
    entry: &Entry,
    completion: &Completion,
    request: &ResolveRequest,
    now: Timestamp,
) -> Result<Decision<Resolved>> {
    if class(entry, request) == EffectClass::FinancialOrLegal && completion.evidence.is_none() {
        return Err(Error::new(crate::error::EVIDENCE_REQUIRED, "this effect is completed only with its evidence"));
    }
    let limit = request.terms.as_ref().map_or(256 * 1024, |terms| terms.result_bytes_max);
    let completed = Entry {
        status: Status::Completed,
        result: Some(completion.result.clone().within(limit, completion.evidence.as_ref())),
        evidence_ref: completion.evidence.clone(),
        error_code: None,
        category: None,
        side_effect: SideEffect::Applied,
        completed_at: Some(now),
        ..settled(entry, now)
    };
    Ok(done(completed, request, "resolved: took hold", now))
}

fn did_not_happen(entry: &Entry, force: bool, request: &ResolveRequest, now: Timestamp) -> Result<Decision<Resolved>> {
    let (settle, slack) = waits(entry, request);
    let believed_from = entry.deadline.plus(settle).plus(slack);
    if now < believed_from && !force {
        return Err(refused(&format!("a late request may still arrive until {believed_from}"))
            .hint("wait until then, or repeat it with force if you know that nothing is on its way"));
    }
    if class(entry, request) == EffectClass::FinancialOrLegal {
        match &entry.approved_by {
            Some(first) if *first != request.who => {}
            Some(_) | None => {
                let approved = Entry { approved_by: Some(Arc::clone(&request.who)), updated_at: now, ..entry.clone() };
                let transition =
                    Transition::to(approved).note(note(request, "did not happen: waits for a second person", now));
                return Ok(Decision::changed(Resolved::NeedsSecondPerson, transition));
            }
        }
    }
    Ok(done(released(entry, now), request, "resolved: did not happen", now))
}

fn waits(entry: &Entry, request: &ResolveRequest) -> (Duration, Duration) {
    let fallback = (Duration::from_mins(15), Duration::from_secs(5));
    let (declared, slack) = request.terms.as_ref().map_or(fallback, |terms| (terms.settle, terms.clock_slack));
    match unknown::contract(entry, request.terms.as_deref()).policy() {
        Policy::Ask { settle } => (*settle, slack),
        Policy::Rerun
        | Policy::AcceptDuplicate { .. }
        | Policy::SameKey { .. }
        | Policy::Void
        | Policy::Escalate
        | Policy::InTransaction => (declared, slack),
    }
}

fn class(entry: &Entry, request: &ResolveRequest) -> EffectClass {
    unknown::contract(entry, request.terms.as_deref()).class()
}

fn released(entry: &Entry, now: Timestamp) -> Entry {
    Entry {
        status: Status::Released,
        attempts: 0,
        error_code: None,
        category: None,
        side_effect: SideEffect::NotApplied,
        completed_at: None,
        ..settled(entry, now)
    }
}

fn settled(entry: &Entry, now: Timestamp) -> Entry {
    Entry {
        settled_by: Some(SettledBy::Person),
        next_attempt_at: None,
        escalate_at: None,
        unknown_since: None,
        next_ask_at: None,
        approved_by: None,
        updated_at: now,
        ..entry.clone()
    }
}

fn done(entry: Entry, request: &ResolveRequest, what: &str, now: Timestamp) -> Decision<Resolved> {
    let status = entry.status;
    let open = entry.incident.is_some();
    let transition = Transition::to(entry).note(note(request, what, now));
    let transition =
        if open { transition.incident(IncidentChange::close_by_person(&request.who, now)) } else { transition };
    Decision::changed(Resolved::Done(status), transition)
}

fn note(request: &ResolveRequest, what: &str, now: Timestamp) -> Note {
    Note {
        at: now,
        who: Arc::clone(&request.who),
        what: Arc::from(what),
        why: Some(Arc::clone(&request.why)),
        fence: request.fence,
    }
}
