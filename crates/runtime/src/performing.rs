//! A grant at work in this process: detached, under its deadline, recorded at the end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{EffectClass, Terms};
use onefold_core::error::{KIND_MISMATCH, SHUTTING_DOWN, UNEXPECTED};
use onefold_core::fingerprint::Subject;
use onefold_core::ledger::{Claim, ClaimRequest, Failure, Origin, Outcome, ReleaseReason, Renewed, SideEffect, Source};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::ports::{FaultPoint, Store};
use onefold_core::retry::Category;
use onefold_core::{Error, Result};
use tokio::task::JoinHandle;

use crate::attempt::{Attempt, Reading};
use crate::held::{Settled, accepted, record_request, release_request, renew_request};
use crate::ledger::{Entrance, Ledger};
use crate::meter::processed;

/// How often an attempt under way is compared with its deadline: timers do not count the sleep of a machine.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is to be performed here.
#[derive(Debug, Clone)]
pub struct Taking {
    /// For whom.
    pub tenant: Tenant,
    /// The operation.
    pub id: OperationId,
    /// What is compared with an earlier request under the same id.
    pub subject: Subject,
    /// Where it comes from.
    pub origin: Origin,
}

/// A grant at work in this process.
pub struct Performing<S: Store> {
    ledger: Ledger<S>,
    terms: Arc<Terms>,
    attempt: Attempt,
    source: Source,
    /// Keeps a shutdown waiting until the outcome is recorded.
    _entrance: Entrance<S>,
}

/// How an effect ended; `T` is handed to whoever waits.
#[derive(Debug)]
pub enum Ending<T> {
    /// This is recorded.
    Record(Outcome, T),
    /// Surely nothing took hold, and the caller holds the retry: the grant goes back.
    Release(T),
}

/// How an attempt ended, and where the operation stands.
#[derive(Debug)]
pub enum Concluded<T> {
    /// The effect ended by itself.
    Ended {
        /// What it handed over.
        said: T,
        /// Where the operation stands; none where the grant went back.
        settled: Option<Settled>,
    },
    /// The effect said nothing.
    Silent {
        /// Why.
        because: Silence,
        /// Where the operation stands; none where nothing had been sent and the grant went back.
        settled: Option<Settled>,
    },
}

/// Why an effect said nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// It panicked.
    Panicked,
    /// The deadline passed, before it or before its first byte.
    TooLate,
}

impl<S: Store> Ledger<S> {
    /// Claims an operation whose effect runs in this process; the next life of this installation settles what it held.
    pub async fn take(&self, terms: &Arc<Terms>, taking: Taking) -> Result<Claim<Performing<S>>> {
        if terms.contract.class() == EffectClass::Local {
            return Err(Error::new(KIND_MISMATCH, format!("kind {} is performed in a transaction only", terms.kind))
                .hint("use `once_in`, or declare another class"));
        }
        self.start().await?;
        let entrance = self.enter()?;
        let Taking { tenant, id, subject, origin } = taking;
        let request = ClaimRequest {
            key: OperationKey::new(tenant, terms.kind.clone(), id),
            subject,
            attempt_id: self.attempt_id(),
            origin: origin.checked()?,
            holder: self.own_holder(),
            jitter: self.jitter(),
            terms: Arc::clone(terms),
        };
        self.take_request(request, entrance).await
    }

    pub(crate) async fn take_request(
        &self,
        request: ClaimRequest,
        entrance: Entrance<S>,
    ) -> Result<Claim<Performing<S>>> {
        let started = Reading::take(&*self.inner.settings.clock);
        let (terms, source) = (Arc::clone(&request.terms), request.origin.source);
        let answer = self.inner.front.claim(request).await?;
        Ok(answer.map_grant(|lease| Performing {
            attempt: Attempt::new(lease, Arc::clone(&self.inner.settings.clock), started),
            ledger: self.clone(),
            terms,
            source,
            _entrance: entrance,
        }))
    }
}

/// How the effect's own thread of work ended.
enum Stopped<T> {
    Returned(T),
    Panicked,
    DeadlinePassed,
}

impl<S: Store> Performing<S> {
    /// The attempt that was granted.
    pub fn attempt(&self) -> &Attempt {
        &self.attempt
    }

    /// Runs `effect` to its end, whoever waits for it, and records what it says. Nothing is sent on where the deadline has
    /// passed or the process drains.
    pub async fn run<T, F, Fut>(self, effect: F) -> Result<Concluded<T>>
    where
        T: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Ending<T>> + Send + 'static,
    {
        let running = tokio::spawn(self.run_attached(effect));
        running.await.map_err(|cause| Error::new(UNEXPECTED, "the attempt's own task ended").caused_by(cause))?
    }

    /// The same for whoever is detached by itself: this future must be driven to its end, whoever goes away.
    pub async fn run_attached<T, F, Fut>(self, effect: F) -> Result<Concluded<T>>
    where
        T: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Ending<T>> + Send + 'static,
    {
        if self.attempt.may_send().is_err() {
            self.give_back().await?;
            return Ok(Concluded::Silent { because: Silence::TooLate, settled: None });
        }
        if self.ledger.inner.running.borrow().stopping {
            self.give_back().await?;
            return Err(Error::new(SHUTTING_DOWN, "this process drains; the grant was given back"));
        }
        let heartbeat = self.heartbeat();
        let acting = tokio::spawn(effect(self.attempt.clone()));
        let stopped = self.until_deadline(acting).await;
        heartbeat.abort();
        self.ledger.inner.settings.faults.reach(FaultPoint::AfterEffect);
        match stopped {
            Stopped::Returned(Ending::Record(outcome, said)) => {
                Ok(Concluded::Ended { said, settled: Some(self.record(outcome).await?) })
            }
            Stopped::Returned(Ending::Release(said)) => {
                self.give_back().await?;
                Ok(Concluded::Ended { said, settled: None })
            }
            Stopped::Panicked => self.panicked().await,
            Stopped::DeadlinePassed => self.too_late().await,
        }
    }

    async fn panicked<T>(&self) -> Result<Concluded<T>> {
        let outcome = if self.attempt.end_quiet() {
            let failure = Failure::technical(Category::Unexpected, SideEffect::NotApplied);
            Outcome::FailedRetryable(failure.detailed("the effect panicked before anything was sent"))
        } else {
            let failure = Failure::technical(Category::Unexpected, SideEffect::Unknown);
            Outcome::Unknown(failure.detailed("the effect panicked"))
        };
        Ok(Concluded::Silent { because: Silence::Panicked, settled: Some(self.record(outcome).await?) })
    }

    async fn too_late<T>(&self) -> Result<Concluded<T>> {
        if self.attempt.end_quiet() {
            self.give_back().await?;
            return Ok(Concluded::Silent { because: Silence::TooLate, settled: None });
        }
        let failure = Failure::technical(Category::DownstreamTimeout, SideEffect::Unknown);
        let outcome = Outcome::Unknown(failure.detailed("no answer before the deadline"));
        Ok(Concluded::Silent { because: Silence::TooLate, settled: Some(self.record(outcome).await?) })
    }

    /// Waits for the effect, up to the attempt's deadline by the holder's own clocks.
    async fn until_deadline<T>(&self, mut acting: JoinHandle<T>) -> Stopped<T> {
        loop {
            let left = self.attempt.remaining();
            if left.is_zero() {
                acting.abort();
                return Stopped::DeadlinePassed;
            }
            tokio::select! {
                biased;
                joined = &mut acting => return joined.map_or(Stopped::Panicked, Stopped::Returned),
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

    async fn give_back(&self) -> Result<()> {
        let request = release_request(&self.terms, self.attempt.lease().into(), ReleaseReason::NothingSent);
        self.ledger.inner.front.release(request).await.map(drop)
    }

    async fn record(&self, outcome: Outcome) -> Result<Settled> {
        let request = record_request(&self.ledger, &self.terms, self.attempt.lease().into(), outcome);
        let took: Duration = self.attempt.lease().deadline_in.saturating_sub(self.attempt.remaining());
        processed(self.source, &self.terms.kind, took);
        accepted(self.ledger.inner.recorder.record(request).await?)
    }
}
