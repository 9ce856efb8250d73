//! The row "performed": the call runs detached, and everyone is answered from what was recorded.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use onefold_core::call::{CallOutcome, KeySent};
use onefold_core::error::UNEXPECTED;
use onefold_core::ledger::{SideEffect, Status};
use onefold_core::operation::OperationKey;
use onefold_core::port::Store;
use onefold_core::{Error, Result};
use onefold_runtime::{Attempt, AttemptReport, NoResult, Permit, RecordedStatus, RunningAttempt};
use tracing::Instrument as _;

use super::attempt_response::{AttemptResponse, SentCall, conclude};
use super::forward_result::{ForwardResult, NoResponse};
use super::guard::{AdmittedRequest, Guard};
use super::in_flight::InFlightResult;
use super::metrics::{AnswerKind, RequestMetrics};
use super::refusal::{Protocol, Refusal, mark_unknown, set_expires, set_retry_after};
use super::settings::RouteSettings;
use crate::correlate::Correlation;
use crate::problem_response::ProblemResponse;

/// A request that may be performed now.
pub(super) struct GrantedRequest<S: Store> {
    pub(super) guard: Guard<S>,
    pub(super) running: RunningAttempt<S>,
    pub(super) admitted: AdmittedRequest,
}

/// What a detached call brings back to the request that it was made for.
struct CallAnswer {
    response: Response,
    kind: AnswerKind,
    /// How long the upstream took, if it was called.
    took: Option<Duration>,
}

impl<S: Store> GrantedRequest<S> {
    /// Performs it. The client may go away meanwhile; the call and its record do not.
    pub(super) async fn perform<F, Fut>(self, perform: F, measured: &mut RequestMetrics) -> Response
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = ForwardResult> + Send + 'static,
    {
        let work = Correlation::carried(Correlation::current(), self.run(perform)).in_current_span();
        match tokio::spawn(work).await {
            Ok(answer) => {
                (measured.kind, measured.upstream) = (answer.kind, answer.took);
                answer.response
            }
            Err(cause) => {
                measured.kind = AnswerKind::Failed;
                let error = Error::new(UNEXPECTED, "the call's own task ended").caused_by(cause);
                ProblemResponse::from(error).had_key().into_response()
            }
        }
    }

    async fn run<F, Fut>(self, perform: F) -> CallAnswer
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = ForwardResult> + Send + 'static,
    {
        let Self { guard, running, admitted } = self;
        let AdmittedRequest { key, protocol, parts, body, permits, proof, .. } = admitted;
        let flight = guard.inner.in_flight.begin(key.clone());
        let earlier = running.attempt().lease().earlier;
        let request = Request::from_parts(parts, body);
        let (inner, of) = (Arc::clone(&guard.inner), key.clone());
        let effect = move |attempt: Attempt| async move {
            let mut request = addressed(request, &attempt, &inner.settings);
            // The sender asks again before each upstream it tries.
            request.extensions_mut().insert(attempt.clone());
            let began = Instant::now();
            let answered = match attempt.may_send() {
                Ok(()) => perform(request).await,
                Err(late) => Err(NoResponse::not_sent(CallOutcome::Timeout, late.to_string()).by_us()),
            };
            let answered = if proof.failed() { Err(not_the_body()) } else { answered };
            let sent = KeySent::of(inner.terms.contract.policy(), earlier);
            let dependency = inner.ledger.dependency_of(&inner.terms);
            let call = SentCall { key: &of, key_sent: sent, dependency: dependency.as_ref() };
            conclude(answered, &inner.settings, call, protocol).await.map(|response| response.took(began.elapsed()))
        };
        let report = running.run_attached(effect).await;
        judge_health(permits.dependency, &report);
        let (answer, result) = guard.call_answer(report, earlier, &key, protocol);
        flight.end(result);
        answer
    }
}

/// Whatever the upstream says of half a body, it may have acted on it.
fn not_the_body() -> NoResponse {
    NoResponse::lost(CallOutcome::Reset, "the body was not the one that its Content-Digest announces").by_us()
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
    if let (Some(name), Ok(key)) = (&settings.context.provider_key, HeaderValue::from_str(attempt.provider_key())) {
        headers.insert(name.clone(), key);
    }
    request
}

/// A call that was not answered as a healthy dependency does counts against it.
fn judge_health(permit: Option<Permit>, report: &Result<AttemptReport<AttemptResponse>>) {
    let Some(permit) = permit else { return };
    match report {
        Ok(AttemptReport { result: Ok(AttemptResponse { healthy: Some(true), .. }), .. }) => permit.succeeded(),
        Ok(
            AttemptReport { result: Ok(AttemptResponse { healthy: Some(false), .. }), .. }
            | AttemptReport { result: Err(_), recorded: Some(_) },
        ) => permit.failed(),
        // Nothing was sent, or only the caller or the ledger failed: the dependency has no part in it.
        Ok(AttemptReport { .. }) | Err(_) => drop(permit),
    }
}

impl<S: Store> Guard<S> {
    /// The answer to the one who sent the request, and how the attempt ended for those who waited.
    fn call_answer(
        &self,
        report: Result<AttemptReport<AttemptResponse>>,
        earlier: SideEffect,
        key: &OperationKey,
        protocol: Protocol,
    ) -> (CallAnswer, InFlightResult) {
        let AttemptReport { result, recorded } = match report {
            Ok(report) => report,
            Err(error) => {
                let refusal = Refusal::from(error.with_fact("operationRef", key.reference()));
                let response = refusal.retry_after(Duration::from_secs(1)).into_response(protocol);
                return (CallAnswer { response, kind: AnswerKind::Failed, took: None }, InFlightResult::Recorded);
            }
        };
        let returned = result.is_ok();
        let (mut response, result, took) = match result {
            Ok(answer) => (answer.response, answer.result, answer.took),
            Err(why) => (no_result(why, recorded, key).into_response(protocol), no_result_of(recorded), None),
        };
        let kind = match recorded {
            Some(recorded) if returned => {
                self.announce(&mut response, recorded, key);
                AnswerKind::of(recorded.status)
            }
            Some(_) => AnswerKind::Unknown,
            // This attempt did nothing; what an earlier one did is as unknown as before.
            None if earlier == SideEffect::Unknown => {
                mark_unknown(response.headers_mut(), &key.reference());
                if returned && !response.headers().contains_key(header::RETRY_AFTER) {
                    set_retry_after(response.headers_mut(), Duration::from_secs(1));
                }
                return (CallAnswer { response, kind: AnswerKind::InFlight, took }, InFlightResult::Recorded);
            }
            None => AnswerKind::NotApplied,
        };
        (CallAnswer { response, kind, took }, result)
    }

    /// What the caller is told beside the upstream's answer.
    fn announce(&self, response: &mut Response, settled: RecordedStatus, key: &OperationKey) {
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

/// What those who waited are told of an attempt that returned nothing.
fn no_result_of(recorded: Option<RecordedStatus>) -> InFlightResult {
    match recorded {
        Some(_) => InFlightResult::Recorded,
        None => InFlightResult::NotSent(StatusCode::SERVICE_UNAVAILABLE, TOO_LATE.into()),
    }
}

fn no_result(why: NoResult, recorded: Option<RecordedStatus>, key: &OperationKey) -> Refusal {
    match (why, recorded) {
        (_, None) => Refusal::not_sent(StatusCode::SERVICE_UNAVAILABLE, TOO_LATE),
        (NoResult::TooLate, Some(_)) => {
            Refusal::unanswered(key, StatusCode::GATEWAY_TIMEOUT, "no answer came before the deadline")
        }
        (NoResult::Panicked, Some(_)) => {
            Refusal::unanswered(key, StatusCode::INTERNAL_SERVER_ERROR, "the handler failed after it had begun")
        }
    }
}
