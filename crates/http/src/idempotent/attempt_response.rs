//! From the upstream's answer to what is recorded, what the caller gets, and what those get who waited.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::response::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use onefold_core::call::{CallMeaning, CallOutcome, KeySent, Promises, judge};
use onefold_core::error::DOWNSTREAM_REJECTED;
use onefold_core::ledger::{Completion, Failure, Outcome, SideEffect, StoredResult};
use onefold_core::operation::OperationKey;
use onefold_core::retry::Category;
use onefold_runtime::{Dependency, EffectResult};

use super::answer_meaning::{AnswerMeaning, ONEFOLD_EFFECT};
use super::buffered_body::BufferedBody;
use super::forward_result::{ForwardResult, NoResponse};
use super::in_flight::InFlightResult;
use super::refusal::{Protocol, Refusal};
use super::settings::RouteSettings;
use super::stored::{self, StoredAnswer};
use super::stream::PrefixedBody;

/// What an attempt hands over.
pub(super) struct AttemptResponse {
    /// For the one who sent the request.
    pub(super) response: Response,
    /// For those who waited here.
    pub(super) result: InFlightResult,
    /// What it says of the dependency's health; nothing where it had no part in it.
    pub(super) healthy: Option<bool>,
    /// How long the upstream took, once that is measured.
    pub(super) took: Option<Duration>,
}

impl AttemptResponse {
    fn new(response: Response, result: InFlightResult, healthy: Option<bool>) -> Self {
        Self { response, result, healthy, took: None }
    }

    /// The same, with the time that the upstream took.
    pub(super) fn took(self, took: Duration) -> Self {
        Self { took: Some(took), ..self }
    }
}

/// A body, read as far as it is kept.
enum ReadBody {
    Whole(Bytes, Option<HeaderMap>),
    /// Too large: this much, and the rest.
    More(Bytes, Body),
    Broken,
}

/// What is known of a call besides its answer.
pub(super) struct SentCall<'a> {
    pub(super) key: &'a OperationKey,
    pub(super) key_sent: KeySent,
    /// What was called, where it is declared.
    pub(super) dependency: Option<&'a Dependency>,
}

/// What becomes of an attempt.
pub(super) async fn conclude(
    answered: ForwardResult,
    settings: &RouteSettings,
    call: SentCall<'_>,
    protocol: Protocol,
) -> EffectResult<AttemptResponse> {
    let SentCall { key, key_sent, dependency } = call;
    match answered {
        Err(unanswered) => nothing_came(&unanswered, key, protocol),
        // How the answer speaks decides, not how the caller asked.
        Ok(response) if Protocol::of(response.headers()) == Protocol::Grpc => grpc(response, settings, key).await,
        Ok(response) => {
            let (mut parts, body) = response.into_parts();
            stored::remove_framing(&mut parts.headers);
            let effect = settings.answers.effect(parts.status, &parts.headers, key_sent, dependency);
            parts.headers.remove(ONEFOLD_EFFECT);
            match effect {
                AnswerMeaning::None => not_applied(parts, body, settings).await,
                AnswerMeaning::StillRunning => still_running(parts, body),
                AnswerMeaning::Applied | AnswerMeaning::Final if streamed(&parts.headers) => {
                    streaming(parts, body, effect, settings)
                }
                AnswerMeaning::Applied | AnswerMeaning::Final => {
                    match read(body, settings.declared.answer_bytes_max).await {
                        ReadBody::Whole(body, trailers) => known(&parts, body, trailers, effect, settings),
                        ReadBody::More(start, rest) => {
                            streaming(parts, PrefixedBody::body(start, rest), effect, settings)
                        }
                        ReadBody::Broken => nothing_came(&broken(), key, protocol),
                    }
                }
                AnswerMeaning::Unknown(category) => unknown(Response::from_parts(parts, body), category),
            }
        }
    }
}

/// The answer to a unary call is judged by its trailers.
async fn grpc(response: Response, settings: &RouteSettings, key: &OperationKey) -> EffectResult<AttemptResponse> {
    let (mut parts, body) = response.into_parts();
    stored::remove_framing(&mut parts.headers);
    match read(body, settings.declared.answer_bytes_max).await {
        ReadBody::Whole(body, trailers) => {
            let effect = settings.answers.effect_of_grpc(&parts.headers, trailers.as_ref());
            parts.headers.remove(ONEFOLD_EFFECT);
            match effect {
                AnswerMeaning::Applied | AnswerMeaning::Final => known(&parts, body, trailers, effect, settings),
                AnswerMeaning::None => {
                    let answer = every_header(&parts, body, trailers);
                    let response = answer.to_response();
                    EffectResult::Release(AttemptResponse::new(
                        response,
                        InFlightResult::NotApplied(Arc::new(answer)),
                        Some(true),
                    ))
                }
                AnswerMeaning::StillRunning => still_running(parts, Body::new(BufferedBody::memory(body, trailers))),
                AnswerMeaning::Unknown(category) => {
                    unknown(every_header(&parts, body, trailers).to_response(), category)
                }
            }
        }
        // Its status comes after what was not read.
        ReadBody::More(start, rest) => {
            parts.headers.remove(ONEFOLD_EFFECT);
            unknown(Response::from_parts(parts, PrefixedBody::body(start, rest)), Category::Unexpected)
        }
        ReadBody::Broken => nothing_came(&broken(), key, Protocol::Grpc),
    }
}

fn every_header(parts: &Parts, body: Bytes, trailers: Option<HeaderMap>) -> StoredAnswer {
    StoredAnswer { status: parts.status, headers: parts.headers.clone(), body, trailers }
}

/// It took hold, or will not: kept as it is.
fn known(
    parts: &Parts,
    body: Bytes,
    trailers: Option<HeaderMap>,
    effect: AnswerMeaning,
    settings: &RouteSettings,
) -> EffectResult<AttemptResponse> {
    let evidence = settings.evidence.of(parts.status, &parts.headers, &body);
    let kept = StoredAnswer::of(parts.status, &parts.headers, &settings.stored_headers, body.clone(), trailers.clone());
    let response = every_header(parts, body, trailers).to_response();
    EffectResult::Record(
        outcome(effect, kept.to_result(), evidence),
        AttemptResponse::new(response, InFlightResult::Recorded, Some(true)),
    )
}

/// Its status is known and its body passes: a duplicate is told so.
fn streaming(
    parts: Parts,
    body: Body,
    effect: AnswerMeaning,
    settings: &RouteSettings,
) -> EffectResult<AttemptResponse> {
    let evidence = settings.evidence.of(parts.status, &parts.headers, b"");
    let result = stored::not_kept(parts.status, &body);
    let said = AttemptResponse::new(Response::from_parts(parts, body), InFlightResult::Recorded, Some(true));
    EffectResult::Record(outcome(effect, result, evidence), said)
}

fn outcome(effect: AnswerMeaning, result: StoredResult, evidence: Arc<str>) -> Outcome {
    if effect.side_effect() == SideEffect::Applied {
        return Outcome::Completed(Completion { result, evidence: Some(evidence) });
    }
    Outcome::FailedFinal(Failure { result: Some(result), ..Failure::business(DOWNSTREAM_REJECTED) })
}

/// Surely nothing took hold: the key stays usable, and those who waited here hear the same.
async fn not_applied(parts: Parts, body: Body, settings: &RouteSettings) -> EffectResult<AttemptResponse> {
    let said = match read(body, settings.declared.answer_bytes_max).await {
        ReadBody::Whole(body, trailers) => {
            let answer = every_header(&parts, body, trailers);
            AttemptResponse::new(answer.to_response(), InFlightResult::NotApplied(Arc::new(answer)), Some(true))
        }
        ReadBody::More(start, rest) => {
            let response = Response::from_parts(parts, PrefixedBody::body(start, rest));
            AttemptResponse::new(response, InFlightResult::Recorded, Some(true))
        }
        ReadBody::Broken => {
            let response = Response::from_parts(parts, Body::empty());
            AttemptResponse::new(response, InFlightResult::Recorded, Some(true))
        }
    };
    EffectResult::Release(said)
}

/// This request did nothing, and an earlier one is at work: the grant goes back, and its outcome stays unknown.
fn still_running(parts: Parts, body: Body) -> EffectResult<AttemptResponse> {
    EffectResult::Release(AttemptResponse::new(Response::from_parts(parts, body), InFlightResult::Recorded, Some(true)))
}

fn unknown(response: Response, category: Category) -> EffectResult<AttemptResponse> {
    let detail = format!("the upstream answered {}", response.status().as_u16());
    let failure = Failure::technical(category, SideEffect::Unknown).detailed(detail);
    EffectResult::Record(
        Outcome::Unknown(failure),
        AttemptResponse::new(response, InFlightResult::Recorded, Some(false)),
    )
}

fn broken() -> NoResponse {
    NoResponse::lost(CallOutcome::Reset, "the upstream's answer ended half-way")
}

/// No answer, or half of one.
fn nothing_came(unanswered: &NoResponse, key: &OperationKey, protocol: Protocol) -> EffectResult<AttemptResponse> {
    let timeout = unanswered.happened == CallOutcome::Timeout;
    let status = if timeout { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    let healthy = (!unanswered.by_us).then_some(false);
    let said =
        |refusal: Refusal| AttemptResponse::new(refusal.into_response(protocol), InFlightResult::Recorded, healthy);
    match judge(unanswered.happened, unanswered.sent, &Promises::default()) {
        CallMeaning::NotSent(_) | CallMeaning::NotApplied(_) => {
            let result = InFlightResult::NotSent(status, Arc::from(unanswered.detail.as_str()));
            let response = Refusal::not_sent(status, &unanswered.detail).into_response(protocol);
            EffectResult::Release(AttemptResponse::new(response, result, healthy))
        }
        CallMeaning::Unknown(category) => {
            let failure = Failure::technical(category, SideEffect::Unknown).detailed(unanswered.detail.as_str());
            let refusal = Refusal::unanswered(key, status, &unanswered.detail);
            EffectResult::Record(Outcome::Unknown(failure), said(refusal))
        }
        CallMeaning::StillRunning | CallMeaning::Broken(_) | CallMeaning::Final | CallMeaning::Business(_) => {
            let failure = Failure::technical(Category::Unexpected, SideEffect::Unknown);
            EffectResult::Record(Outcome::Unknown(failure), said(Refusal::unanswered(key, status, &unanswered.detail)))
        }
    }
}

/// Answers that end when their sender likes.
fn streamed(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

async fn read(mut body: Body, bytes_max: usize) -> ReadBody {
    let (mut bytes, mut trailers) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return ReadBody::Broken };
        match frame.into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(other) => trailers = other.into_trailers().ok(),
        }
        if bytes.len() > bytes_max {
            return ReadBody::More(bytes.freeze(), body);
        }
    }
    ReadBody::Whole(bytes.freeze(), trailers)
}
