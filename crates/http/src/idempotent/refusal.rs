//! Every answer that is not the upstream's own, in one place.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use onefold_core::error::{
    Code, DOWNSTREAM_TIMEOUT, DOWNSTREAM_UNAVAILABLE, OPERATION_IN_FLIGHT, OPERATION_WAITING, OUTCOME_UNKNOWN,
    RESULT_UNAVAILABLE, UPSTREAM_UNREACHABLE,
};
use onefold_core::operation::OperationKey;
use onefold_core::{Error, Timestamp};

use super::settings::RouteSettings;
use crate::problem_response::ProblemResponse;

/// Says that an answer is the one of an earlier request.
pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Until when a key is remembered; after that the same key is a new request.
pub const IDEMPOTENCY_EXPIRES: HeaderName = HeaderName::from_static("idempotency-expires");
/// What is known of the effect, where it is not known to have ended.
pub const ONEFOLD_OUTCOME: HeaderName = HeaderName::from_static("onefold-outcome");
/// The operation's reference, for support.
pub const ONEFOLD_OPERATION: HeaderName = HeaderName::from_static("onefold-operation");

/// Headers that only we may say of an answer: an upstream that says them would be believed.
const OURS: [HeaderName; 4] = [IDEMPOTENT_REPLAYED, IDEMPOTENCY_EXPIRES, ONEFOLD_OUTCOME, ONEFOLD_OPERATION];

/// Whether only we may say this of an answer.
pub fn is_ours(name: &HeaderName) -> bool {
    OURS.contains(name)
}

/// Removes what only we may say of an answer.
pub fn strip_ours(headers: &mut HeaderMap) {
    for name in OURS {
        headers.remove(name);
    }
}

/// Why a request is not answered by the upstream, or not by it alone.
#[derive(Debug)]
pub(super) struct Refusal {
    error: Box<Error>,
    status: Option<StatusCode>,
    retry_after: Option<Duration>,
    unknown: Option<String>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error: Box::new(error), status: None, retry_after: None, unknown: None }
    }
}

impl Refusal {
    pub(super) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    fn status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// The key was used for another request than the one with these headers.
    pub(super) fn reused(settings: &RouteSettings, headers: &HeaderMap) -> Self {
        let code = settings.declared.reused.code;
        let mut error = Error::new(code, format!("the {} of this request was used for another one", settings.header));
        if is_multipart(headers) {
            error = error.hint(
                "a multipart body is compared byte for byte, its boundary included: if this is a retry, send the same \
                 bytes and the same Content-Type as before; else send a new key",
            );
        }
        Self::from(error).status(settings.reused_status)
    }

    /// The attempt in flight did not end while this request waited.
    pub(super) fn in_flight(status: StatusCode, wait: Duration) -> Self {
        let wait = wait.clamp(Duration::from_secs(1), Duration::from_secs(5));
        Self::from(Error::new(OPERATION_IN_FLIGHT, "a request with this key is being performed"))
            .status(status)
            .retry_after(wait)
    }

    /// The next attempt may not start yet.
    pub(super) fn waiting(until: Timestamp, now: Timestamp) -> Self {
        let wait = until.since(now).max(Duration::from_secs(1));
        Self::from(Error::new(OPERATION_WAITING, "the last attempt failed; the next one may start later"))
            .retry_after(wait)
    }

    /// It is unknown whether it took hold.
    pub(super) fn unknown(key: &OperationKey, detail: &str) -> Self {
        let reference = key.reference();
        let error = Error::new(OUTCOME_UNKNOWN, detail)
            .with_fact("operationRef", reference.clone())
            .with_fact("safeToRetryWithNewKey", false);
        Self { unknown: Some(reference), ..Self::from(error) }
    }

    /// The same for the one who sent it: no answer came from the upstream.
    pub(super) fn unanswered(key: &OperationKey, status: StatusCode, detail: &str) -> Self {
        Self::unknown(key, detail).status(status)
    }

    /// Nothing was sent.
    pub(super) fn not_sent(status: StatusCode, detail: &str) -> Self {
        Self::from(Error::new(UPSTREAM_UNREACHABLE, detail)).status(status).retry_after(Duration::from_secs(1))
    }

    /// An unguarded request was sent, and no answer came.
    pub(super) fn lost(status: StatusCode, detail: &str) -> Self {
        let code = if status == StatusCode::GATEWAY_TIMEOUT { DOWNSTREAM_TIMEOUT } else { DOWNSTREAM_UNAVAILABLE };
        Self::from(Error::new(code, detail)).status(status)
    }

    /// It was done, or refused for good, and its answer cannot be shown.
    pub(super) fn unavailable(key: &OperationKey, completed: bool, original: Option<StatusCode>, detail: &str) -> Self {
        let what = if completed { "it was done" } else { "it was refused for good" };
        let mut error = Error::new(RESULT_UNAVAILABLE, format!("{what}; {detail}"))
            .with_fact("completed", completed)
            .with_fact("operationRef", key.reference());
        if let Some(original) = original {
            error = error.with_fact("originalStatus", original.as_u16());
        }
        Self::from(error)
    }

    /// As HTTP, or as gRPC where that is what was asked.
    pub(super) fn into_response(self, asked: Protocol) -> Response {
        let Self { error, status, retry_after, unknown } = self;
        #[cfg(feature = "grpc")]
        if asked == Protocol::Grpc {
            return super::grpc::refusal(&error, retry_after);
        }
        let _ = asked;
        let mut rejection = ProblemResponse::from(*error).had_key();
        if let Some(status) = status {
            rejection = rejection.status(status.as_u16());
        }
        let mut response = rejection.into_response();
        if let Some(wait) = retry_after {
            set_retry_after(response.headers_mut(), wait);
        }
        if let Some(reference) = unknown {
            mark_unknown(response.headers_mut(), &reference);
        }
        response
    }

    /// What it is counted as.
    pub(super) fn code(&self) -> Code {
        self.error.code()
    }
}

/// How a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http,
    Grpc,
}

impl Protocol {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let grpc =
            headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
        if grpc { Self::Grpc } else { Self::Http }
    }
}

/// Most clients draw a new boundary for every request, also for a retry.
fn is_multipart(headers: &HeaderMap) -> bool {
    let media = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes().trim_ascii_start());
    media.and_then(|media| media.get(..10)).is_some_and(|start| start.eq_ignore_ascii_case(b"multipart/"))
}

/// Whole seconds, never less than the wait.
pub(super) fn set_retry_after(headers: &mut HeaderMap, wait: Duration) {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
}

pub(super) fn mark_unknown(headers: &mut HeaderMap, reference: &str) {
    headers.insert(ONEFOLD_OUTCOME, HeaderValue::from_static("unknown"));
    if let Ok(reference) = HeaderValue::from_str(reference) {
        headers.insert(ONEFOLD_OPERATION, reference);
    }
}

/// Until when the key is remembered, as HTTP writes dates.
pub(super) fn set_expires(headers: &mut HeaderMap, at: Timestamp) {
    let form = time::macros::format_description!(
        "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
    );
    let at = time::OffsetDateTime::from_unix_timestamp(at.as_micros().div_euclid(1_000_000)).ok();
    if let Some(value) = at.and_then(|at| HeaderValue::from_str(&at.format(form).ok()?).ok()) {
        headers.insert(IDEMPOTENCY_EXPIRES, value);
    }
}
