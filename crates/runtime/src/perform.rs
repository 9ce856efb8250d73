//! Around an outside effect: claim, perform under the deadline, record; the caller is answered from the record.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{EffectClass, Terms};
use onefold_core::error::{
    CodeName, PROGRAMMING_INVARIANT_VIOLATED, RESULT_NOT_KEPT, RESULT_UNREADABLE, SHUTTING_DOWN, UNEXPECTED,
};
use onefold_core::incident::IncidentId;
use onefold_core::ledger::{
    Claim, ClaimRequest, Completion, Entry, Outcome, Recorded, Renewed, Replay, Source, Status, StoredResult, decide,
};
use onefold_core::ports::{Clock, FaultPoint, Store};
use onefold_core::retry::{Category, Schedule};
use onefold_core::{Error, Result, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use crate::attempt::{Attempt, Reading, TooLate};
use crate::call::{CallFailure, Meaning};
use crate::held::{accepted, record_request, release_request, renew_request};
use crate::kind::{Performs, encode};
use crate::ledger::{Entrance, Ledger};
use crate::meter::processed;
use crate::operation::Operation;

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
        let source = claim.origin.source;
        match ledger.inner.front.claim(claim).await? {
            Claim::Granted(lease) => {
                // The grant is here: from now on the attempt runs to its end, whoever waits for it.
                let attempt = Attempt::new(lease, Arc::clone(&ledger.inner.settings.clock), started);
                let holding = Holding { ledger, terms, attempt, source, _entrance: entrance };
                let running = tokio::spawn(holding.run::<C, T, F, Fut>(effect));
                running
                    .await
                    .map_err(|cause| Error::new(UNEXPECTED, "the attempt's own task ended").caused_by(cause))?
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
    }
}

/// A grant at work.
struct Holding<S: Store> {
    ledger: Ledger<S>,
    terms: Arc<Terms>,
    attempt: Attempt,
    source: Source,
    /// Keeps a shutdown waiting until the outcome is recorded.
    _entrance: Entrance<S>,
}

/// How the closure ended.
enum Ended<T> {
    Returned(T),
    Panicked,
    DeadlinePassed,
}

impl<S: Store> Holding<S> {
    async fn run<C, T, F, Fut>(self, effect: F) -> Result<Performed<T>>
    where
        C: Performs,
        T: Serialize + Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<C::Output<T>, CallFailure>> + Send + 'static,
        C::Output<T>: Send,
    {
        if self.attempt.may_send().is_err() {
            return self.release(&CallFailure::from(TooLate)).await;
        }
        if self.ledger.inner.running.borrow().stopping {
            self.release::<T>(&CallFailure::from(TooLate)).await?;
            return Err(Error::new(SHUTTING_DOWN, "this process drains; the grant was given back"));
        }
        let heartbeat = self.heartbeat();
        let attempt = self.attempt.clone();
        let acting = tokio::spawn(async move { effect(attempt).await.map(C::split) });
        let ended = self.until_deadline(acting).await;
        heartbeat.abort();
        self.ledger.inner.settings.faults.reach(FaultPoint::AfterEffect);
        match ended {
            Ended::Returned(Ok((result, evidence))) => self.complete(result, evidence).await,
            Ended::Returned(Err(failure)) => self.fail(failure).await,
            Ended::Panicked if self.attempt.nothing_sent() => {
                self.fail(
                    CallFailure::not_applied(Category::Unexpected)
                        .detail("the closure panicked before anything was sent"),
                )
                .await
            }
            Ended::Panicked => {
                self.fail(CallFailure::unknown(Category::Unexpected).detail("the closure panicked")).await
            }
            Ended::DeadlinePassed if self.attempt.nothing_sent() => self.release(&CallFailure::from(TooLate)).await,
            Ended::DeadlinePassed => {
                self.fail(CallFailure::unknown(Category::DownstreamTimeout).detail("no answer before the deadline"))
                    .await
            }
        }
    }

    /// Waits for the closure, up to the attempt's deadline by the holder's own clocks.
    async fn until_deadline<T>(&self, mut acting: JoinHandle<T>) -> Ended<T> {
        loop {
            let left = self.attempt.remaining();
            if left.is_zero() {
                acting.abort();
                return Ended::DeadlinePassed;
            }
            tokio::select! {
                biased;
                joined = &mut acting => return joined.map_or(Ended::Panicked, Ended::Returned),
                () = self.ledger.inner.settings.clock.sleep(left) => {}
            }
        }
    }

    /// Renews the lease three times in its length, until the attempt ends.
    fn heartbeat(&self) -> JoinHandle<()> {
        let (ledger, terms, attempt) = (self.ledger.clone(), Arc::clone(&self.terms), self.attempt.clone());
        tokio::spawn(async move {
            loop {
                ledger.inner.settings.clock.sleep(terms.lease_for / 3).await;
                match ledger.inner.front.renew(renew_request(&terms, attempt.lease().into())).await {
                    Ok(Renewed::Until(_)) => {}
                    Ok(Renewed::Ended | Renewed::NeverGranted) => {
                        attempt.lose();
                        return;
                    }
                    // The deadline still holds; a store that comes back is told in the next beat.
                    Err(error) => tracing::warn!(error_code = %error.code(), "lease not renewed"),
                }
            }
        })
    }

    async fn complete<T: Serialize>(self, result: T, evidence: Option<Arc<str>>) -> Result<Performed<T>> {
        // The effect took hold: a result that cannot be written must not hide that.
        let stored = encode(&result).unwrap_or_else(|_| StoredResult::json(&b"null"[..]));
        match self.record(Outcome::Completed(Completion { result: stored, evidence })).await? {
            Recorded::Settled { .. } | Recorded::Already { .. } => Ok(Performed::Completed { result, replayed: false }),
            refused @ Recorded::Refused(_) => Err(accepted(refused).err().unwrap_or_else(not_refused)),
        }
    }

    async fn fail<T>(self, failure: CallFailure) -> Result<Performed<T>> {
        let rejection = Rejection { code: Some(failure.code_name().clone()), category: None };
        let hint = failure.clone();
        let Some(outcome) = failure.outcome() else {
            return self.release(&hint).await;
        };
        let category = outcome.failure().and_then(|failure| failure.category);
        let key = self.attempt.lease().key.clone();
        let ledger = self.ledger.clone();
        match self.record(outcome).await? {
            Recorded::Settled { status: Status::FailedFinal, .. } => {
                Ok(Performed::Rejected(Rejection { category, ..rejection }))
            }
            Recorded::Settled { next_attempt_at: Some(until), .. } => Ok(Performed::Waiting { until }),
            Recorded::Settled { .. } | Recorded::Already { .. } => {
                let entry = ledger.inner.store.find(vec![key]).await?.pop().flatten();
                entry.map_or_else(|| Err(not_refused()), |entry| Ok(standing(&entry)))
            }
            refused @ Recorded::Refused(_) => Err(accepted(refused).err().unwrap_or_else(not_refused)),
        }
    }

    /// Nothing was sent: the grant goes back, and the caller is told when trying again makes sense.
    async fn release<T>(&self, failure: &CallFailure) -> Result<Performed<T>> {
        let request = release_request(&self.terms, self.attempt.lease().into());
        self.ledger.inner.front.release(request).await?;
        let wait = failure.retry_hint().unwrap_or(Duration::from_secs(1)).min(Schedule::WAIT_MAX);
        Ok(Performed::Waiting { until: self.ledger.inner.settings.clock.now().plus(wait) })
    }

    async fn record(&self, outcome: Outcome) -> Result<Recorded> {
        let request = record_request(&self.ledger, &self.terms, self.attempt.lease().into(), outcome);
        let took = self.attempt.lease().deadline_in.saturating_sub(self.attempt.remaining());
        processed(self.source, &self.terms.kind, took);
        self.ledger.inner.recorder.record(request).await
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
