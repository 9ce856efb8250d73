//! The row "performed": the call runs detached, and everyone is answered from what was recorded.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use onefold_core::call::{Happened, KeySent};
use onefold_core::error::UNEXPECTED;
use onefold_core::ledger::{SideEffect, Status};
use onefold_core::operation::OperationKey;
use onefold_core::ports::Store;
use onefold_core::{Error, Result};
use onefold_runtime::{Attempt, Concluded, Ending, Pass, Performing, Settled, Silence};
use tracing::Instrument as _;

use super::conclude::{Said, conclude};
use super::flights::Landed;
use super::guard::{Admitted, Guard};
use super::meter::{AnswerKind, Measured};
use super::performed::{Answered, Unanswered};
use super::refusal::{Protocol, Refusal, mark_unknown, set_expires, set_retry_after};
use super::route::RouteSettings;
use crate::correlate::Correlation;
use crate::rejection::Rejection;

/// A request that may be performed now.
pub(super) struct Granted<S: Store> {
    pub(super) guard: Guard<S>,
    pub(super) performing: Performing<S>,
    pub(super) admitted: Admitted,
}

/// What a detached call brings back.
struct Ended {
    response: Response,
    kind: AnswerKind,
    upstream: Option<Duration>,
}

impl<S: Store> Granted<S> {
    /// Performs it. Whoever asked may go away meanwhile; the call and its record do not.
    pub(super) async fn perform<F, Fut>(self, perform: F, measured: &mut Measured) -> Response
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = Answered> + Send + 'static,
    {
        let work = Correlation::carried(Correlation::current(), self.run(perform)).in_current_span();
        match tokio::spawn(work).await {
            Ok(ended) => {
                (measured.kind, measured.upstream) = (ended.kind, ended.upstream);
                ended.response
            }
            Err(cause) => {
                measured.kind = AnswerKind::Failed;
                let error = Error::new(UNEXPECTED, "the call's own thread of work ended").caused_by(cause);
                Rejection::from(error).had_key().into_response()
            }
        }
    }

    async fn run<F, Fut>(self, perform: F) -> Ended
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = Answered> + Send + 'static,
    {
        let Self { guard, performing, admitted } = self;
        let Admitted { key, protocol, parts, body, places, proof, .. } = admitted;
        let flight = guard.inner.flights.begin(key.clone());
        let earlier = performing.attempt().lease().earlier;
        let request = Request::from_parts(parts, body);
        let (inner, of) = (Arc::clone(&guard.inner), key.clone());
        let effect = move |attempt: Attempt| async move {
            let mut request = addressed(request, &attempt, &inner.settings);
            // Whoever sends it asks again before each upstream it tries.
            request.extensions_mut().insert(attempt.clone());
            let began = Instant::now();
            let answered = match attempt.may_send() {
                Ok(()) => perform(request).await,
                Err(late) => Err(Unanswered::not_sent(Happened::Timeout, late.to_string()).by_us()),
            };
            let answered = if proof.failed() { Err(not_the_body()) } else { answered };
            let sent = KeySent::of(inner.terms.contract.policy(), earlier);
            let ending = conclude(answered, &inner.settings, (&of, sent), protocol).await;
            timed(ending, began.elapsed())
        };
        let concluded = performing.run_attached(effect).await;
        judge_health(places.pass, &concluded);
        let (ended, landed) = guard.ended(concluded, earlier, &key, protocol);
        flight.land(landed);
        ended
    }
}

/// Whatever the upstream says of half a body, it may have acted on it.
fn not_the_body() -> Unanswered {
    Unanswered::lost(Happened::Reset, "the body was not the one that its Content-Digest announces").by_us()
}

/// What the attempt said, and how long the upstream took.
type Timed = (Said, Duration);

fn timed(ending: Ending<Said>, took: Duration) -> Ending<Timed> {
    match ending {
        Ending::Record(outcome, said) => Ending::Record(outcome, (said, took)),
        Ending::Release(said) => Ending::Release((said, took)),
    }
}

/// The request as the upstream gets it: an answer that may be kept must be readable by everyone, and a provider that
/// takes a key gets the operation's.
fn addressed(mut request: Request, attempt: &Attempt, settings: &RouteSettings) -> Request {
    let open_end = http_body::Body::size_hint(request.body()).exact().is_none();
    let headers = request.headers_mut();
    if open_end {
        // HTTP/1.1 has trailers behind chunks only.
        headers.remove(header::CONTENT_LENGTH);
    }
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let (Some(name), Ok(key)) = (&settings.provider_key, HeaderValue::from_str(attempt.key())) {
        headers.insert(name.clone(), key);
    }
    request
}

/// A call that was not answered as a healthy dependency does counts against it.
fn judge_health(pass: Option<Pass>, concluded: &Result<Concluded<Timed>>) {
    let Some(pass) = pass else { return };
    match concluded {
        Ok(Concluded::Ended { said: (Said { healthy: Some(true), .. }, _), .. }) => pass.succeeded(),
        Ok(
            Concluded::Ended { said: (Said { healthy: Some(false), .. }, _), .. }
            | Concluded::Silent { settled: Some(_), .. },
        ) => pass.failed(),
        // Nothing was sent, or only the caller or the ledger failed: the dependency has no part in it.
        Ok(Concluded::Ended { .. } | Concluded::Silent { settled: None, .. }) | Err(_) => drop(pass),
    }
}

impl<S: Store> Guard<S> {
    /// The answer to the one who sent the request, and how the attempt ended for those who waited.
    fn ended(
        &self,
        concluded: Result<Concluded<Timed>>,
        earlier: SideEffect,
        key: &OperationKey,
        protocol: Protocol,
    ) -> (Ended, Landed) {
        match concluded {
            Ok(Concluded::Ended { said: (said, took), settled }) => {
                let mut response = said.response;
                let kind = match settled {
                    Some(settled) => {
                        self.announce(&mut response, settled, key);
                        AnswerKind::of(settled.status)
                    }
                    // This attempt did nothing; what an earlier one did is as unknown as before.
                    None if earlier == SideEffect::Unknown => {
                        mark_unknown(response.headers_mut(), &key.reference());
                        if !response.headers().contains_key(header::RETRY_AFTER) {
                            set_retry_after(response.headers_mut(), Duration::from_secs(1));
                        }
                        return (Ended { response, kind: AnswerKind::InFlight, upstream: Some(took) }, Landed::Look);
                    }
                    None => AnswerKind::NotApplied,
                };
                (Ended { response, kind, upstream: Some(took) }, said.landed)
            }
            Ok(Concluded::Silent { because, settled }) => {
                let refusal = silent(because, settled, key);
                let (kind, landed) = match settled {
                    Some(_) => (AnswerKind::Unknown, Landed::Look),
                    None => (AnswerKind::NotApplied, Landed::NotSent(StatusCode::SERVICE_UNAVAILABLE, TOO_LATE.into())),
                };
                let mut response = refusal.into_response(protocol);
                if settled.is_none() && earlier == SideEffect::Unknown {
                    mark_unknown(response.headers_mut(), &key.reference());
                    return (Ended { response, kind: AnswerKind::InFlight, upstream: None }, Landed::Look);
                }
                (Ended { response, kind, upstream: None }, landed)
            }
            Err(error) => {
                let refusal = Refusal::from(error.with_fact("operationRef", key.reference()));
                let response = refusal.retry_after(Duration::from_secs(1)).into_response(protocol);
                (Ended { response, kind: AnswerKind::Failed, upstream: None }, Landed::Look)
            }
        }
    }

    /// What the caller is told beside the upstream's answer.
    fn announce(&self, response: &mut Response, settled: Settled, key: &OperationKey) {
        let now = self.inner.ledger.now();
        match settled.status {
            Status::Completed | Status::FailedFinal => {
                if let Some(kept) = self.inner.terms.retention.id_for {
                    set_expires(response.headers_mut(), now.plus(kept));
                }
            }
            Status::FailedRetryable => {
                mark_unknown(response.headers_mut(), &key.reference());
                let until = settled.next_attempt_at.unwrap_or(now);
                set_retry_after(response.headers_mut(), until.since(now).max(Duration::from_secs(1)));
            }
            Status::Unknown | Status::Started | Status::Released => {
                mark_unknown(response.headers_mut(), &key.reference());
            }
        }
    }
}

const TOO_LATE: &str = "the deadline passed before anything was sent";

fn silent(because: Silence, settled: Option<Settled>, key: &OperationKey) -> Refusal {
    match (because, settled) {
        (_, None) => Refusal::not_sent(StatusCode::SERVICE_UNAVAILABLE, TOO_LATE),
        (Silence::TooLate, Some(_)) => {
            Refusal::unanswered(key, StatusCode::GATEWAY_TIMEOUT, "no answer came before the deadline")
        }
        (Silence::Panicked, Some(_)) => {
            Refusal::unanswered(key, StatusCode::INTERNAL_SERVER_ERROR, "the handler failed after it had begun")
        }
    }
}
