//! Around an outside effect: claim, perform under the deadline, record; the caller is answered from the record.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::call::CallHealth;
use onefold_core::effect::{Class, EffectClass};
use onefold_core::error::{
    CodeName, PROGRAMMING_INVARIANT_VIOLATED, RESULT_DAMAGED, RESULT_NOT_KEPT, RESULT_UNREADABLE, UNEXPECTED,
};
use onefold_core::incident::IncidentId;
use onefold_core::ledger::{Claim, ClaimRequest, Completion, Entry, Outcome, Replay, Status, StoredResult, decide};
use onefold_core::operation::OperationKey;
use onefold_core::port::{Clock, Store};
use onefold_core::retry::{Category, Schedule};
use onefold_core::{Error, Result, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{CallFailure, FailureMeaning};
use crate::dependency::{Permit, Refused};
use crate::ledger::attempt::{Attempt, ClockReading};
use crate::ledger::handle::Ledger;
use crate::ledger::kind::{PerformableClass, encode};
use crate::ledger::lease_handle::RecordedStatus;
use crate::ledger::operation::Operation;
use crate::ledger::running_attempt::{AttemptReport, EffectResult, NoResult};

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Performed<T> {
    /// It took hold.
    Completed {
        /// What was recorded.
        result: T,
        /// Whether it had taken hold before this call.
        replayed: bool,
    },
    /// The provider said no, for good.
    Rejected(Rejection),
    /// It may be attempted again then.
    Waiting {
        /// Not before this time.
        until: Timestamp,
        /// What the last attempt ended with, where that is known.
        because: Option<CodeName>,
    },
    /// Someone else is at it.
    InFlight {
        /// When asking again makes sense.
        retry_after: Duration,
    },
    /// This id was used for another request.
    Conflict,
    /// It is unknown whether it took hold. Do not act; a person or a reconciler will.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// When the provider is asked next.
        next_ask: Option<Timestamp>,
        /// The incident that a person works on.
        incident: Option<IncidentId>,
    },
}

/// Why it will not take hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The code that was recorded.
    pub code: Option<CodeName>,
    /// What it means; none for a business answer.
    pub category: Option<Category>,
}

impl<S: Store, C: Class> Operation<S, C> {
    /// Performs `effect` once, whatever fails, and answers from what was recorded.
    ///
    /// `effect` is called only with a grant; what it returns says what is known. It runs detached:
    /// a caller that goes away does not stop it, and its outcome is recorded all the same. Errors
    /// are the ledger's own; nothing is known to have been performed then, except for
    /// `OUTCOME_NOT_RECORDED`, which says so.
    pub async fn perform<R, T, F, Fut>(self, request: &R, effect: F) -> Result<Performed<T>>
    where
        C: PerformableClass,
        R: Serialize,
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<C::Output<T>, CallFailure>> + Send + 'static,
        C::Output<T>: Send,
    {
        let ledger = self.kind.ledger.clone();
        ledger.start().await?;
        let admission = ledger.enter()?;
        let terms = Arc::clone(&self.kind.terms);
        let started = ClockReading::take(&*ledger.inner.settings.clock);
        let claim = self.request(request, ledger.own_holder(), ledger.attempt_id())?;
        let key = claim.key.clone();
        let permit = match ledger.permit(&terms) {
            Ok(permit) => permit,
            Err(refused) => return refused_by_dependency(&ledger, claim, refused).await,
        };
        if terms.contract.class() == EffectClass::Pure && !terms.remember {
            return unremembered::<C, T, _, _>(&ledger.inner.settings.clock, claim, started, permit, effect).await;
        }
        match ledger.take_request(claim, admission).await? {
            // The grant is here: from now on the attempt runs to its end, even if its caller goes away.
            Claim::Granted(running) => {
                let acting = move |attempt| async move { effect_result(effect(attempt).await.map(C::split)) };
                answered(&ledger, key, running.run_with(permit, acting).await?).await
            }
            standing @ (Claim::Replay(_)
            | Claim::InFlight { .. }
            | Claim::Conflict
            | Claim::Unknown { .. }
            | Claim::Waiting { .. }) => {
                permit.unused();
                not_granted(&ledger, key, standing).await
            }
        }
    }
}

/// The answer to a claim that was not granted.
async fn not_granted<S: Store, G, T: DeserializeOwned>(
    ledger: &Ledger<S>,
    key: OperationKey,
    claim: Claim<G>,
) -> Result<Performed<T>> {
    match claim {
        Claim::Granted(_) => Err(Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a grant was left aside")),
        Claim::Replay(replay) => replayed(replay),
        Claim::InFlight { retry_after } => Ok(Performed::InFlight { retry_after }),
        Claim::Conflict => Ok(Performed::Conflict),
        Claim::Unknown { since, next_ask, incident } => Ok(Performed::Unknown { since, next_ask, incident }),
        Claim::Waiting { until } => Box::pin(waiting(ledger, key, until)).await,
    }
}

/// The dependency lets no call begin: what is recorded is answered, and everything else waits. Nothing was claimed.
async fn refused_by_dependency<S: Store, T: DeserializeOwned>(
    ledger: &Ledger<S>,
    claim: ClaimRequest,
    refused: Refused,
) -> Result<Performed<T>> {
    if let Some(standing) = ledger.answer_without_call(&claim).await? {
        return not_granted(ledger, claim.key, standing).await;
    }
    let until = ledger.now().plus(refused.retry_after);
    Ok(Performed::Waiting { until, because: Some(Error::from(refused).code().name()) })
}

/// A pure operation that need not be remembered: no row, no lease.
async fn unremembered<C, T, F, Fut>(
    clock: &Arc<dyn Clock>,
    claim: ClaimRequest,
    started: ClockReading,
    permit: Permit,
    effect: F,
) -> Result<Performed<T>>
where
    C: PerformableClass,
    F: FnOnce(Attempt) -> Fut,
    Fut: Future<Output = Result<C::Output<T>, CallFailure>>,
{
    let now = clock.now();
    let Claim::Granted(lease) = decide(None, &claim, now)?.answer else {
        return Err(Error::new(UNEXPECTED, "an absent operation was not granted"));
    };
    let attempt = Attempt::new(lease, Arc::clone(clock), started);
    let returned = effect(attempt).await;
    permit.ended(returned.as_ref().err().map_or(CallHealth::Answered, CallFailure::health));
    Ok(match returned {
        Ok(output) => Performed::Completed { result: C::split(output).0, replayed: false },
        Err(failure) if failure.meaning == FailureMeaning::Final => {
            Performed::Rejected(Rejection { code: Some(failure.code_name().clone()), category: None })
        }
        Err(failure) => Performed::Waiting {
            until: now.plus(failure.retry_hint().unwrap_or(Duration::from_secs(1))),
            because: Some(failure.code_name().clone()),
        },
    })
}

/// The recorded outcome as the caller's type.
fn replayed<T: DeserializeOwned>(replay: Replay) -> Result<Performed<T>> {
    match (replay.status, replay.result) {
        (Status::Completed, Some(result)) => Ok(Performed::Completed { result: decode(&result)?, replayed: true }),
        (Status::Completed, None) => Err(Error::new(RESULT_NOT_KEPT, "the operation completed without a result")),
        (_, _) => Ok(Performed::Rejected(Rejection { code: replay.error_code, category: replay.category })),
    }
}

/// A stored result as the caller's type.
pub(crate) fn decode<T: DeserializeOwned>(result: &StoredResult) -> Result<T> {
    match result {
        StoredResult::Kept { bytes, .. } => serde_json::from_slice(bytes).map_err(|cause| {
            Error::new(RESULT_UNREADABLE, "the recorded result does not decode as the type asked for").caused_by(cause)
        }),
        StoredResult::Digest { bytes, reference, .. } => {
            let there = reference.as_deref().map(|reference| format!(", see {reference}")).unwrap_or_default();
            Err(Error::new(
                RESULT_NOT_KEPT,
                format!("the operation completed; its result of {bytes} bytes was not kept{there}"),
            ))
        }
        StoredResult::Damaged { .. } => {
            Err(Error::new(RESULT_DAMAGED, "the stored result is not the one that was recorded"))
        }
    }
}

fn effect_result<T: Serialize>(
    returned: Result<(T, Option<Arc<str>>), CallFailure>,
) -> EffectResult<Result<T, CallFailure>> {
    match returned {
        Ok((result, evidence)) => {
            // The effect took hold: a result that cannot be written must not hide that.
            let stored = encode(&result).unwrap_or_else(|_| StoredResult::json(&b"null"[..]));
            EffectResult::Record(Outcome::Completed(Completion { result: stored, evidence }), Ok(result))
        }
        Err(failure) => match failure.clone().outcome() {
            None => EffectResult::Release(Err(failure)),
            Some(outcome) => EffectResult::Record(outcome, Err(failure)),
        },
    }
}

/// What became of an attempt, as the caller's type.
async fn answered<S: Store, T>(
    ledger: &Ledger<S>,
    key: OperationKey,
    report: AttemptReport<Result<T, CallFailure>>,
) -> Result<Performed<T>> {
    let failure = match report.result {
        Ok(Ok(result)) => return Ok(Performed::Completed { result, replayed: false }),
        Ok(Err(failure)) => failure,
        Err(why) => CallFailure::not_sent(category_of(why)),
    };
    match report.recorded {
        None => Ok(again(ledger, &failure)),
        Some(recorded) => failed(ledger, key, recorded, failure.code_name().clone()).await,
    }
}

/// What an attempt that returned nothing is counted as.
fn category_of(why: NoResult) -> Category {
    if why == NoResult::Panicked { Category::Unexpected } else { Category::DownstreamTimeout }
}

/// Nothing was sent: the grant went back, and the caller is told when trying again makes sense.
fn again<S: Store, T>(ledger: &Ledger<S>, failure: &CallFailure) -> Performed<T> {
    let wait = failure.retry_hint().unwrap_or(Duration::from_secs(1)).min(Schedule::WAIT_MAX);
    let until = ledger.inner.settings.clock.now().plus(wait);
    Performed::Waiting { until, because: Some(failure.code_name().clone()) }
}

/// An earlier attempt failed: what it ended with is read back, unless the operation has moved on since.
async fn waiting<S: Store, T>(ledger: &Ledger<S>, key: OperationKey, until: Timestamp) -> Result<Performed<T>> {
    let entry = ledger.inner.store.find(vec![key]).await?.pop().flatten();
    let because = entry.filter(|entry| entry.next_attempt_at == Some(until)).and_then(|entry| entry.error_code);
    Ok(Performed::Waiting { until, because })
}

async fn failed<S: Store, T>(
    ledger: &Ledger<S>,
    key: OperationKey,
    settled: RecordedStatus,
    code: CodeName,
) -> Result<Performed<T>> {
    if let (Some(until), false) = (settled.next_attempt_at, settled.status == Status::FailedFinal) {
        return Ok(Performed::Waiting { until, because: Some(code) });
    }
    let entry = ledger.inner.store.find(vec![key]).await?.pop().flatten();
    match entry.as_ref().map(standing) {
        Some(Performed::Rejected(rejection)) => {
            Ok(Performed::Rejected(Rejection { code: Some(rejection.code.unwrap_or(code)), ..rejection }))
        }
        Some(standing) => Ok(standing),
        None => Err(not_refused()),
    }
}

fn standing<T>(entry: &Entry) -> Performed<T> {
    match entry.status {
        Status::FailedRetryable | Status::Released => {
            let until = entry.next_attempt_at.unwrap_or(entry.updated_at);
            Performed::Waiting { until, because: entry.error_code.clone() }
        }
        Status::FailedFinal => {
            Performed::Rejected(Rejection { code: entry.error_code.clone(), category: entry.category })
        }
        Status::Started => Performed::InFlight { retry_after: Duration::from_secs(1) },
        Status::Unknown | Status::Completed => Performed::Unknown {
            since: entry.unknown_since.unwrap_or(entry.updated_at),
            next_ask: entry.next_ask_at,
            incident: entry.incident.clone(),
        },
    }
}

fn not_refused() -> Error {
    Error::new(PROGRAMMING_INVARIANT_VIOLATED, "an operation vanished while it was performed")
}
