//! Around an outside effect: claim, perform under the deadline, record; the caller is answered from the record.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::EffectClass;
use onefold_core::error::{
    CodeName, PROGRAMMING_INVARIANT_VIOLATED, RESULT_DAMAGED, RESULT_NOT_KEPT, RESULT_UNREADABLE, UNEXPECTED,
};
use onefold_core::incident::IncidentId;
use onefold_core::ledger::{Claim, ClaimRequest, Completion, Entry, Outcome, Replay, Status, StoredResult, decide};
use onefold_core::operation::OperationKey;
use onefold_core::ports::{Clock, Store};
use onefold_core::retry::{Category, Schedule};
use onefold_core::{Error, Result, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attempt::{Attempt, Reading};
use crate::call::{CallFailure, Meaning};
use crate::held::Settled;
use crate::kind::{Performs, encode};
use crate::ledger::Ledger;
use crate::operation::Operation;
use crate::performing::{Concluded, Ending, Silence};

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
    },
    /// Someone else is at it.
    InFlight {
        /// When asking again makes sense.
        retry_after: Duration,
    },
    /// This id was used for another request.
    Conflict,
    /// Nobody knows whether it took hold. Do not act; a person or a reconciler will.
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

impl<S: Store, C: Performs> Operation<S, C> {
    /// Performs `effect` once, whatever fails, and answers from what was recorded.
    ///
    /// `effect` is called only with a grant; what it returns says what is known. It runs detached:
    /// a caller that goes away does not stop it, and its outcome is recorded all the same. Errors
    /// are the ledger's own; nothing is known to have been performed then, except for
    /// `OUTCOME_NOT_RECORDED`, which says so.
    pub async fn perform<R, T, F, Fut>(self, request: &R, effect: F) -> Result<Performed<T>>
    where
        R: Serialize,
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<C::Output<T>, CallFailure>> + Send + 'static,
        C::Output<T>: Send,
    {
        let ledger = self.kind.ledger.clone();
        ledger.start().await?;
        let entrance = ledger.enter()?;
        let terms = Arc::clone(&self.kind.terms);
        let started = Reading::take(&*ledger.inner.settings.clock);
        let claim = self.request(request, ledger.own_holder(), ledger.attempt_id())?;
        if terms.contract.class() == EffectClass::Pure && !terms.remember {
            return unremembered::<C, T, _, _>(&ledger.inner.settings.clock, claim, started, effect).await;
        }
        let key = claim.key.clone();
        match ledger.take_request(claim, entrance).await? {
            // The grant is here: from now on the attempt runs to its end, whoever waits for it.
            Claim::Granted(performing) => {
                let acting = move |attempt| async move { ending(effect(attempt).await.map(C::split)) };
                answered(&ledger, key, performing.run(acting).await?).await
            }
            Claim::Replay(replay) => replayed(replay),
            Claim::InFlight { retry_after } => Ok(Performed::InFlight { retry_after }),
            Claim::Conflict => Ok(Performed::Conflict),
            Claim::Unknown { since, next_ask, incident } => Ok(Performed::Unknown { since, next_ask, incident }),
            Claim::Waiting { until } => Ok(Performed::Waiting { until }),
        }
    }
}

/// A pure operation that nobody asked to remember: no row, no lease.
async fn unremembered<C, T, F, Fut>(
    clock: &Arc<dyn Clock>,
    claim: ClaimRequest,
    started: Reading,
    effect: F,
) -> Result<Performed<T>>
where
    C: Performs,
    F: FnOnce(Attempt) -> Fut,
    Fut: Future<Output = Result<C::Output<T>, CallFailure>>,
{
    let now = clock.now();
    let Claim::Granted(lease) = decide(None, &claim, now)?.answer else {
        return Err(Error::new(UNEXPECTED, "an absent operation was not granted"));
    };
    let attempt = Attempt::new(lease, Arc::clone(clock), started);
    Ok(match effect(attempt).await {
        Ok(output) => Performed::Completed { result: C::split(output).0, replayed: false },
        Err(failure) if failure.meaning == Meaning::Final => {
            Performed::Rejected(Rejection { code: Some(failure.code_name().clone()), category: None })
        }
        Err(failure) => Performed::Waiting { until: now.plus(failure.retry_hint().unwrap_or(Duration::from_secs(1))) },
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

/// What the closure handed over.
type Said<T> = Result<T, CallFailure>;

fn ending<T: Serialize>(returned: Result<(T, Option<Arc<str>>), CallFailure>) -> Ending<Said<T>> {
    match returned {
        Ok((result, evidence)) => {
            // The effect took hold: a result that cannot be written must not hide that.
            let stored = encode(&result).unwrap_or_else(|_| StoredResult::json(&b"null"[..]));
            Ending::Record(Outcome::Completed(Completion { result: stored, evidence }), Ok(result))
        }
        Err(failure) => match failure.clone().outcome() {
            None => Ending::Release(Err(failure)),
            Some(outcome) => Ending::Record(outcome, Err(failure)),
        },
    }
}

/// What became of an attempt, as the caller's type.
async fn answered<S: Store, T>(
    ledger: &Ledger<S>,
    key: OperationKey,
    concluded: Concluded<Said<T>>,
) -> Result<Performed<T>> {
    match concluded {
        Concluded::Ended { said: Ok(result), .. } => Ok(Performed::Completed { result, replayed: false }),
        Concluded::Ended { said: Err(failure), settled: None } => Ok(again(ledger, failure.retry_hint())),
        Concluded::Ended { said: Err(failure), settled: Some(settled) } => {
            failed(ledger, key, settled, failure.code_name().clone()).await
        }
        Concluded::Silent { settled: None, .. } => Ok(again(ledger, None)),
        Concluded::Silent { settled: Some(settled), because } => {
            let category =
                if because == Silence::Panicked { Category::Unexpected } else { Category::DownstreamTimeout };
            failed(ledger, key, settled, category.code().name()).await
        }
    }
}

/// Nothing was sent: the grant went back, and the caller is told when trying again makes sense.
fn again<S: Store, T>(ledger: &Ledger<S>, hint: Option<Duration>) -> Performed<T> {
    let wait = hint.unwrap_or(Duration::from_secs(1)).min(Schedule::WAIT_MAX);
    Performed::Waiting { until: ledger.inner.settings.clock.now().plus(wait) }
}

async fn failed<S: Store, T>(
    ledger: &Ledger<S>,
    key: OperationKey,
    settled: Settled,
    code: CodeName,
) -> Result<Performed<T>> {
    if let (Some(until), false) = (settled.next_attempt_at, settled.status == Status::FailedFinal) {
        return Ok(Performed::Waiting { until });
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
            Performed::Waiting { until: entry.next_attempt_at.unwrap_or(entry.updated_at) }
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
