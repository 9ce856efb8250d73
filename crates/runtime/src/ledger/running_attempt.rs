//! A grant at work in this process: detached, under its deadline, recorded at the end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::call::CallHealth;
use onefold_core::effect::{EffectClass, KindSpec};
use onefold_core::error::{KIND_MISMATCH, SHUTTING_DOWN, UNEXPECTED};
use onefold_core::ledger::{Claim, ClaimRequest, Failure, Outcome, ReleaseReason, Renewed, SideEffect, Source};
use onefold_core::port::{FaultPoint, Store};
use onefold_core::retry::Category;
use onefold_core::{Error, Result};
use tokio::task::JoinHandle;

use crate::call::CallFailure;
use crate::dependency::Permit;
use crate::ledger::attempt::{Attempt, ClockReading};
use crate::ledger::claim_request::ClaimInput;
use crate::ledger::handle::{AdmissionGuard, Ledger};
use crate::ledger::lease_handle::{RecordedStatus, accepted, record_request, release_request, renew_request};
use crate::meter::processed;

/// How often an attempt in flight is compared with its deadline: timers do not count the sleep of a machine.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A grant at work in this process.
pub struct RunningAttempt<S: Store> {
    ledger: Ledger<S>,
    terms: Arc<KindSpec>,
    attempt: Attempt,
    source: Source,
    /// Keeps a shutdown waiting until the outcome is recorded.
    _admission: AdmissionGuard<S>,
}

/// How an effect ended; `T` is handed to its caller.
#[derive(Debug)]
pub enum EffectResult<T> {
    /// This is recorded.
    Record(Outcome, T),
    /// Surely nothing took hold, and the caller holds the retry: the grant goes back.
    Release(T),
}

impl<T> EffectResult<T> {
    /// The same end with another value for the caller.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> EffectResult<U> {
        match self {
            Self::Record(outcome, value) => EffectResult::Record(outcome, change(value)),
            Self::Release(value) => EffectResult::Release(change(value)),
        }
    }
}

/// How an attempt ended, and what was recorded of it.
#[derive(Debug)]
pub struct AttemptReport<T> {
    /// What the effect handed over.
    pub result: Result<T, NoResult>,
    /// The operation's state after the record; none if nothing was recorded because the grant went back.
    pub recorded: Option<RecordedStatus>,
}

/// Why an effect handed nothing over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoResult {
    /// It panicked.
    Panicked,
    /// The deadline passed, before it or before its first byte.
    TooLate,
}

impl<S: Store> Ledger<S> {
    /// Claims an operation whose effect runs in this process; the next life of this installation settles what it held.
    pub async fn take(&self, terms: &Arc<KindSpec>, input: ClaimInput) -> Result<Claim<RunningAttempt<S>>> {
        if terms.contract.class() == EffectClass::Local {
            return Err(Error::new(KIND_MISMATCH, format!("kind {} is performed in a transaction only", terms.kind))
                .hint("use `once_in`, or declare another class"));
        }
        self.start().await?;
        let admission = self.enter()?;
        let request = self.claim_request(terms, input, self.own_holder(), self.attempt_id())?;
        self.take_request(request, admission).await
    }

    pub(crate) async fn take_request(
        &self,
        request: ClaimRequest,
        admission: AdmissionGuard<S>,
    ) -> Result<Claim<RunningAttempt<S>>> {
        let started = ClockReading::take(&*self.inner.settings.clock);
        let (terms, source) = (Arc::clone(&request.terms), request.origin.source);
        let answer = self.inner.batcher.claim(request).await?;
        Ok(answer.map_grant(|lease| RunningAttempt {
            attempt: Attempt::new(lease, Arc::clone(&self.inner.settings.clock), started),
            ledger: self.clone(),
            terms,
            source,
            _admission: admission,
        }))
    }
}

/// What an attempt says about the dependency that it called.
fn health<T>(report: &Result<AttemptReport<Result<T, CallFailure>>>) -> CallHealth {
    match report {
        Ok(AttemptReport { result: Ok(Ok(_)), .. }) => CallHealth::Answered,
        Ok(AttemptReport { result: Ok(Err(failure)), .. }) => failure.health(),
        Ok(AttemptReport { result: Err(NoResult::TooLate), recorded: Some(_) }) => CallHealth::Failed,
        // Nothing was sent, our own code panicked, or only the ledger failed.
        Ok(AttemptReport { result: Err(_), .. }) | Err(_) => CallHealth::NotInvolved,
    }
}

impl<S: Store> RunningAttempt<S> {
    /// The attempt that was granted.
    pub fn attempt(&self) -> &Attempt {
        &self.attempt
    }

    /// Runs `effect` to its end, even if its caller goes away, and records what it returns. Nothing is sent once the
    /// deadline has passed or the process drains.
    pub async fn run<T, F, Fut>(self, effect: F) -> Result<AttemptReport<T>>
    where
        T: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = EffectResult<T>> + Send + 'static,
    {
        let running = tokio::spawn(self.run_attached(effect));
        running.await.map_err(|cause| Error::new(UNEXPECTED, "the attempt's own task ended").caused_by(cause))?
    }

    /// The same with a permit for its dependency, which ends as the call does.
    pub(super) async fn run_with<T, F, Fut>(
        self,
        permit: Permit,
        effect: F,
    ) -> Result<AttemptReport<Result<T, CallFailure>>>
    where
        T: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = EffectResult<Result<T, CallFailure>>> + Send + 'static,
    {
        let running = tokio::spawn(async move {
            let report = self.run_attached(effect).await;
            permit.ended(health(&report));
            report
        });
        running.await.map_err(|cause| Error::new(UNEXPECTED, "the attempt's own task ended").caused_by(cause))?
    }

    /// The same for a caller that has its own task: this future must be driven to its end.
    pub async fn run_attached<T, F, Fut>(self, effect: F) -> Result<AttemptReport<T>>
    where
        T: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = EffectResult<T>> + Send + 'static,
    {
        if self.attempt.may_send().is_err() {
            self.give_back().await?;
            return Ok(AttemptReport { result: Err(NoResult::TooLate), recorded: None });
        }
        if self.ledger.inner.running.borrow().stopping {
            self.give_back().await?;
            return Err(Error::new(SHUTTING_DOWN, "this process drains; the grant was given back"));
        }
        let heartbeat = self.heartbeat();
        let acting = tokio::spawn(effect(self.attempt.clone()));
        let ended = self.until_deadline(acting).await;
        heartbeat.abort();
        self.ledger.inner.settings.faults.reach(FaultPoint::AFTER_EFFECT);
        match ended {
            Ok(EffectResult::Record(outcome, value)) => {
                Ok(AttemptReport { result: Ok(value), recorded: Some(self.record(outcome).await?) })
            }
            Ok(EffectResult::Release(value)) => {
                self.give_back().await?;
                Ok(AttemptReport { result: Ok(value), recorded: None })
            }
            Err(NoResult::Panicked) => self.panicked().await,
            Err(NoResult::TooLate) => self.too_late().await,
        }
    }

    async fn panicked<T>(&self) -> Result<AttemptReport<T>> {
        let outcome = if self.attempt.end_quiet() {
            let failure = Failure::technical(Category::Unexpected, SideEffect::NotApplied);
            Outcome::FailedRetryable(failure.detailed("the effect panicked before anything was sent"))
        } else {
            let failure = Failure::technical(Category::Unexpected, SideEffect::Unknown);
            Outcome::Unknown(failure.detailed("the effect panicked"))
        };
        Ok(AttemptReport { result: Err(NoResult::Panicked), recorded: Some(self.record(outcome).await?) })
    }

    async fn too_late<T>(&self) -> Result<AttemptReport<T>> {
        if self.attempt.end_quiet() {
            self.give_back().await?;
            return Ok(AttemptReport { result: Err(NoResult::TooLate), recorded: None });
        }
        let failure = Failure::technical(Category::DownstreamTimeout, SideEffect::Unknown);
        let outcome = Outcome::Unknown(failure.detailed("no answer before the deadline"));
        Ok(AttemptReport { result: Err(NoResult::TooLate), recorded: Some(self.record(outcome).await?) })
    }

    /// Waits for the effect, up to the attempt's deadline by the holder's own clocks.
    async fn until_deadline<T>(&self, mut acting: JoinHandle<T>) -> Result<T, NoResult> {
        loop {
            let left = self.attempt.remaining();
            if left.is_zero() {
                acting.abort();
                return Err(NoResult::TooLate);
            }
            tokio::select! {
                biased;
                joined = &mut acting => return joined.map_err(|_| NoResult::Panicked),
                // A machine that slept wakes into an attempt whose time is over: look at both clocks often enough.
                () = self.ledger.inner.settings.clock.sleep(left.min(LOOK_EVERY)) => {}
            }
        }
    }

    /// Renews the lease three times in its length, until the attempt ends.
    fn heartbeat(&self) -> JoinHandle<()> {
        let (ledger, terms, attempt) = (self.ledger.clone(), Arc::clone(&self.terms), self.attempt.clone());
        tokio::spawn(async move {
            loop {
                ledger.inner.settings.clock.sleep(terms.lease_for / 3).await;
                match ledger.inner.batcher.renew(renew_request(&terms, attempt.lease().into())).await {
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

    async fn give_back(&self) -> Result<()> {
        let request = release_request(&self.terms, self.attempt.lease().into(), ReleaseReason::NothingSent);
        self.ledger.inner.batcher.release(request).await.map(drop)
    }

    async fn record(&self, outcome: Outcome) -> Result<RecordedStatus> {
        let request = record_request(&self.ledger, &self.terms, self.attempt.lease().into(), outcome);
        let took: Duration = self.attempt.lease().deadline_in.saturating_sub(self.attempt.remaining());
        processed(self.source, &self.terms.kind, took);
        accepted(self.ledger.inner.recorder.record(request).await?)
    }
}
