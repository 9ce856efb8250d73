//! The correlation id of every request: taken from the caller or made, in every log line and answer.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use metrics::counter;
use onefold_runtime::trace;
use tracing::{Instrument as _, Span, field};
use uuid::Uuid;

use crate::pages::ErrorsBase;
use crate::problem_response::AnsweredCode;

const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

tokio::task_local! {
    static CURRENT: Correlation;
}

/// The request that is being answered: the trace it belongs to, its own id, its route.
#[derive(Debug, Clone)]
pub struct Correlation {
    id: String,
    /// Of this request alone: a problem's `instance`, and a field of its log lines.
    pub(crate) request_id: Uuid,
    pub(crate) route: Option<String>,
    /// Where the pages of error codes are.
    pub(crate) errors_base: ErrorsBase,
}

impl Correlation {
    /// That of the request that is being answered here.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// That of a request with these headers, on this route.
    pub fn of(headers: &HeaderMap, route: Option<String>, errors_base: ErrorsBase) -> Self {
        Self { id: correlation_id(headers), request_id: Uuid::new_v4(), route, errors_base }
    }

    /// The id of the trace that the request belongs to; many requests may share it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The span of the request, which continues the trace that `headers` name.
    pub fn span(&self, headers: &HeaderMap) -> Span {
        // Later code that knows more of the request fills in the empty fields.
        let span = tracing::info_span!(
            "request",
            correlation_id = %self.id,
            request_id = %self.request_id,
            route = self.route,
            actor = field::Empty,
            operation_id = field::Empty,
            business_key = field::Empty,
            process_instance_key = field::Empty,
            element_id = field::Empty,
            attempt = field::Empty,
        );
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        trace::adopt(&span, &header);
        span
    }

    /// Answers the request under its id and in its span, and counts the answer.
    pub async fn answering(self, span: Span, work: impl Future<Output = Response>) -> Response {
        let route = self.route.clone();
        let response = CURRENT.scope(self, work).instrument(span).await;
        let code = response.extensions().get::<AnsweredCode>().map_or("none", |answered| answered.0.as_str());
        counter!(
            "onefold_http_requests_total",
            "route" => route.unwrap_or_else(|| "none".to_owned()),
            "status" => response.status().as_str().to_owned(),
            "error_code" => code,
        )
        .increment(1);
        response
    }

    /// What is done for that request somewhere else, under the same id.
    pub(crate) async fn carried<T>(correlation: Option<Self>, work: impl Future<Output = T>) -> T {
        match correlation {
            Some(correlation) => CURRENT.scope(correlation, work).await,
            None => work.await,
        }
    }
}

/// Gives every request a correlation id, every answer that id, and counts both. A layer for `from_fn`.
pub async fn correlate(request: Request, next: Next) -> Response {
    correlate_with(State(ErrorsBase::default()), request, next).await
}

/// The same where the pages of error codes are elsewhere. A layer for `from_fn_with_state`.
pub async fn correlate_with(State(base): State<ErrorsBase>, request: Request, next: Next) -> Response {
    correlating(base, request, |request| next.run(request)).await
}

/// The same around `answer`, for a layer that does more.
pub async fn correlating<F>(base: ErrorsBase, mut request: Request, answer: impl FnOnce(Request) -> F) -> Response
where
    F: Future<Output = Response>,
{
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let correlation = Correlation::of(request.headers(), route, base);
    let id = correlation.id.clone();
    request.extensions_mut().insert(correlation.clone());
    let span = correlation.span(request.headers());
    let mut response = correlation.answering(span, answer(request)).await;
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(CORRELATION_ID, value);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn correlation_id(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let shaped = |id: &&str| {
        (1..=128).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || "._:/-".contains(c))
    };
    // The trace id of a W3C traceparent is its second part.
    let traced = text("traceparent").and_then(|value| value.split('-').nth(1)).filter(|id| id.len() == 32);
    text("x-correlation-id")
        .filter(shaped)
        .or(traced.filter(shaped))
        .map_or_else(|| Uuid::new_v4().simple().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(set: &[(&'static str, &'static str)]) -> HeaderMap {
        set.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_correlation_id_is_taken_from_the_caller_or_made() {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(correlation_id(&headers(&[("x-correlation-id", "CASE-7")])), "CASE-7");
        assert_eq!(correlation_id(&headers(&[("traceparent", trace)])), "4bf92f3577b34da6a3ce929d0e0e4736");
        for bad in ["", "two words", "\u{7f}"] {
            let mut set = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_str(bad) {
                set.insert(CORRELATION_ID, value);
            }
            assert_eq!(correlation_id(&set).len(), 32, "{bad:?}");
        }
    }
}
