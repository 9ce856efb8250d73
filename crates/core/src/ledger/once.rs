//! Check, execute, record in the caller's own transaction: no lease, and a crash leaves nothing behind.

use std::sync::Arc;

use super::claim::{Claim, ClaimRequest, decide};
use super::entry::{Entry, SettledBy, SideEffect, Status};
use super::outcome::{Completion, Outcome, Replay};
use crate::effect::EffectClass;
use crate::error::{Error, KIND_MISMATCH, PROGRAMMING_INVARIANT_VIOLATED, Result};
use crate::time::Timestamp;

/// An operation to perform inside a transaction: a claim whose lease is the transaction itself.
pub type OnceRequest = ClaimRequest;

/// What the transaction finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnceDecision {
    /// Nothing: perform it here.
    Perform,
    /// It was performed; here is what was recorded.
    Replay(Replay),
    /// The same id was used for another request.
    Conflict,
}

/// Decides what to do with an operation of a local kind.
pub fn once(entry: Option<&Entry>, request: &OnceRequest) -> Result<OnceDecision> {
    if request.terms.contract.class() != EffectClass::Local {
        return Err(Error::new(
            KIND_MISMATCH,
            format!(
                "kind {} is declared {}, which is performed around an effect",
                request.key.kind,
                request.terms.contract.class()
            ),
        )
        .hint("declare the kind with Kind::local, or use perform"));
    }
    let Some(entry) = entry else {
        return Ok(OnceDecision::Perform);
    };
    if !request.input.matches(&entry.fingerprint)? {
        return Ok(OnceDecision::Conflict);
    }
    if entry.is_settled() {
        return Ok(OnceDecision::Replay(Replay::of(entry)?));
    }
    Err(Error::new(
        KIND_MISMATCH,
        format!("operation {} is {}, so it was claimed outside a transaction", request.key, entry.status),
    ))
}

/// The entry of an operation that its transaction performed.
pub fn performed(request: &OnceRequest, completion: Completion, now: Timestamp) -> Result<Entry> {
    let decision = decide(None, request, now)?;
    let (Claim::Granted(_), Some(transition)) = (decision.answer, decision.transition) else {
        return Err(Error::new(PROGRAMMING_INVARIANT_VIOLATED, "an absent operation was not granted"));
    };
    let result = completion.result.clone().within(request.terms.result_bytes_max, completion.evidence.as_ref());
    let evidence_ref = completion.evidence.clone();
    Ok(Entry {
        status: Status::Completed,
        recorded: Some(Outcome::Completed(completion).digest()),
        result: Some(result),
        evidence_ref,
        side_effect: SideEffect::Applied,
        settled_by: Some(SettledBy::Holder),
        installation: None,
        worker: Arc::clone(&request.holder.worker),
        completed_at: Some(now),
        ..transition.entry
    })
}
