//! From the upstream's answer to what is recorded, what the caller gets, and what those get who waited.

use std::sync::Arc;

use axum::body::Body;
use axum::http::response::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use onefold_core::call::{Happened, KeySent, Meaning, Promises, judge};
use onefold_core::error::DOWNSTREAM_REJECTED;
use onefold_core::ledger::{Completion, Failure, Outcome, SideEffect, StoredResult};
use onefold_core::operation::OperationKey;
use onefold_core::retry::Category;
use onefold_runtime::Ending;

use super::flights::Landed;
use super::meaning::{Effect, ONEFOLD_EFFECT};
use super::performed::{Answered, Unanswered};
use super::refusal::{Protocol, Refusal};
use super::route::RouteSettings;
use super::stored::{self, StoredAnswer};
use super::stream::Rest;
use super::whole::Whole;

/// What an attempt hands over.
pub(super) struct Said {
    /// For the one who sent the request.
    pub(super) response: Response,
    /// For those who waited here.
    pub(super) landed: Landed,
    /// What it says of the dependency's health; nothing where it had no part in it.
    pub(super) healthy: Option<bool>,
}

impl Said {
    fn new(response: Response, landed: Landed, healthy: Option<bool>) -> Self {
        Self { response, landed, healthy }
    }
}

/// A body, read as far as it is kept.
enum Read {
    Whole(Bytes, Option<HeaderMap>),
    /// Too large: this much, and the rest.
    More(Bytes, Body),
    Broken,
}

/// What becomes of an attempt.
pub(super) async fn conclude(
    answered: Answered,
    settings: &RouteSettings,
    key: (&OperationKey, KeySent),
    protocol: Protocol,
) -> Ending<Said> {
    let (key, key_sent) = key;
    match answered {
        Err(unanswered) => nothing_came(&unanswered, key, protocol),
        // How the answer speaks decides, not how the caller asked.
        Ok(response) if Protocol::of(response.headers()) == Protocol::Grpc => grpc(response, settings, key).await,
        Ok(response) => {
            let (mut parts, body) = response.into_parts();
            stored::remove_framing(&mut parts.headers);
            let effect = settings.answers.effect(parts.status, &parts.headers, key_sent);
            parts.headers.remove(ONEFOLD_EFFECT);
            match effect {
                Effect::None => not_applied(parts, body, settings).await,
                Effect::StillRunning => still_running(parts, body),
                Effect::Applied | Effect::Final if streamed(&parts.headers) => streaming(parts, body, effect, settings),
                Effect::Applied | Effect::Final => match read(body, settings.body.answer_bytes_max).await {
                    Read::Whole(body, trailers) => known(&parts, body, trailers, effect, settings),
                    Read::More(start, rest) => streaming(parts, Rest::body(start, rest), effect, settings),
                    Read::Broken => nothing_came(&broken(), key, protocol),
                },
                Effect::Unknown(category) => unknown(Response::from_parts(parts, body), category),
            }
        }
    }
}

/// The answer to a unary call is judged by what stands behind its body.
async fn grpc(response: Response, settings: &RouteSettings, key: &OperationKey) -> Ending<Said> {
    let (mut parts, body) = response.into_parts();
    stored::remove_framing(&mut parts.headers);
    match read(body, settings.body.answer_bytes_max).await {
        Read::Whole(body, trailers) => {
            let effect = settings.answers.effect_of_grpc(&parts.headers, trailers.as_ref());
            parts.headers.remove(ONEFOLD_EFFECT);
            match effect {
                Effect::Applied | Effect::Final => known(&parts, body, trailers, effect, settings),
                Effect::None => {
                    let answer = every_header(&parts, body, trailers);
                    let response = answer.to_response();
                    Ending::Release(Said::new(response, Landed::NotApplied(Arc::new(answer)), Some(true)))
                }
                Effect::StillRunning => still_running(parts, Body::new(Whole::memory(body, trailers))),
                Effect::Unknown(category) => unknown(every_header(&parts, body, trailers).to_response(), category),
            }
        }
        // Its status stands behind what was not read.
        Read::More(start, rest) => {
            parts.headers.remove(ONEFOLD_EFFECT);
            unknown(Response::from_parts(parts, Rest::body(start, rest)), Category::Unexpected)
        }
        Read::Broken => nothing_came(&broken(), key, Protocol::Grpc),
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
    effect: Effect,
    settings: &RouteSettings,
) -> Ending<Said> {
    let evidence = settings.evidence.of(parts.status, &parts.headers, &body);
    let kept = StoredAnswer::of(parts.status, &parts.headers, &settings.stored_headers, body.clone(), trailers.clone());
    let response = every_header(parts, body, trailers).to_response();
    Ending::Record(outcome(effect, kept.to_result(), evidence), Said::new(response, Landed::Look, Some(true)))
}

/// Its status is known and its body passes: a duplicate is told so.
fn streaming(parts: Parts, body: Body, effect: Effect, settings: &RouteSettings) -> Ending<Said> {
    let evidence = settings.evidence.of(parts.status, &parts.headers, b"");
    let result = stored::not_kept(parts.status, &body);
    let said = Said::new(Response::from_parts(parts, body), Landed::Look, Some(true));
    Ending::Record(outcome(effect, result, evidence), said)
}

fn outcome(effect: Effect, result: StoredResult, evidence: Arc<str>) -> Outcome {
    if effect.side_effect() == SideEffect::Applied {
        return Outcome::Completed(Completion { result, evidence: Some(evidence) });
    }
    Outcome::FailedFinal(Failure { result: Some(result), ..Failure::business(DOWNSTREAM_REJECTED) })
}

/// Surely nothing took hold: the key stays usable, and whoever waited here hears the same.
async fn not_applied(parts: Parts, body: Body, settings: &RouteSettings) -> Ending<Said> {
    let said = match read(body, settings.body.answer_bytes_max).await {
        Read::Whole(body, trailers) => {
            let answer = every_header(&parts, body, trailers);
            Said::new(answer.to_response(), Landed::NotApplied(Arc::new(answer)), Some(true))
        }
        Read::More(start, rest) => {
            let response = Response::from_parts(parts, Rest::body(start, rest));
            Said::new(response, Landed::Look, Some(true))
        }
        Read::Broken => {
            let response = Response::from_parts(parts, Body::empty());
            Said::new(response, Landed::Look, Some(true))
        }
    };
    Ending::Release(said)
}

/// This request did nothing, and an earlier one is at work: the grant goes back, and its outcome stays unknown.
fn still_running(parts: Parts, body: Body) -> Ending<Said> {
    Ending::Release(Said::new(Response::from_parts(parts, body), Landed::Look, Some(true)))
}

fn unknown(response: Response, category: Category) -> Ending<Said> {
    let detail = format!("the upstream answered {}", response.status().as_u16());
    let failure = Failure::technical(category, SideEffect::Unknown).detailed(detail);
    Ending::Record(Outcome::Unknown(failure), Said::new(response, Landed::Look, Some(false)))
}

fn broken() -> Unanswered {
    Unanswered::lost(Happened::Reset, "the upstream's answer ended half-way")
}

/// No answer, or half of one.
fn nothing_came(unanswered: &Unanswered, key: &OperationKey, protocol: Protocol) -> Ending<Said> {
    let timeout = unanswered.happened == Happened::Timeout;
    let status = if timeout { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    let healthy = (!unanswered.by_us).then_some(false);
    let said = |refusal: Refusal| Said::new(refusal.into_response(protocol), Landed::Look, healthy);
    match judge(unanswered.happened, unanswered.sent, &Promises::default()) {
        Meaning::NotSent(_) | Meaning::NotApplied(_) => {
            let landed = Landed::NotSent(status, Arc::from(unanswered.detail.as_str()));
            let response = Refusal::not_sent(status, &unanswered.detail).into_response(protocol);
            Ending::Release(Said::new(response, landed, healthy))
        }
        Meaning::Unknown(category) => {
            let failure = Failure::technical(category, SideEffect::Unknown).detailed(unanswered.detail.as_str());
            let refusal = Refusal::unanswered(key, status, &unanswered.detail);
            Ending::Record(Outcome::Unknown(failure), said(refusal))
        }
        Meaning::StillRunning | Meaning::Broken(_) | Meaning::Final | Meaning::Business(_) => {
            let failure = Failure::technical(Category::Unexpected, SideEffect::Unknown);
            Ending::Record(Outcome::Unknown(failure), said(Refusal::unanswered(key, status, &unanswered.detail)))
        }
    }
}

/// Answers that end when their sender likes.
fn streamed(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

async fn read(mut body: Body, bytes_max: usize) -> Read {
    let (mut bytes, mut trailers) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Read::Broken };
        match frame.into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(other) => trailers = other.into_trailers().ok(),
        }
        if bytes.len() > bytes_max {
            return Read::More(bytes.freeze(), body);
        }
    }
    Read::Whole(bytes.freeze(), trailers)
}
