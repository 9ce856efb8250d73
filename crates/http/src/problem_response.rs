//! Every error as `application/problem+json`, and as a line in the log.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onefold_core::Error;
use onefold_core::error::{Code, Level, LogDecision, Problem, ProblemContext, Sampler, Visibility};
use onefold_core::incident::redact;
use uuid::Uuid;

use crate::correlate::Correlation;

/// An error on its way to a client: what is wrong, who must act, whether a retry is safe.
#[derive(Debug)]
pub struct ProblemResponse {
    error: Box<Error>,
    status: Option<u16>,
    had_key: bool,
    /// What is said of this one failure where no request is known.
    instance: Uuid,
}

impl From<Error> for ProblemResponse {
    fn from(error: Error) -> Self {
        Self { error: Box::new(error), status: None, had_key: false, instance: Uuid::new_v4() }
    }
}

impl ProblemResponse {
    /// The same under another status than its code's own.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The same for a request that carried a key which deduplicates it: sending it again cannot harm.
    #[must_use]
    pub fn had_key(mut self) -> Self {
        self.had_key = true;
        self
    }

    /// The problem as it is sent.
    pub fn problem(&self) -> Problem {
        let current = Correlation::current();
        let request = current.as_ref().map_or(self.instance, |request| request.request_id);
        let context = ProblemContext {
            base: current.as_ref().map(|request| request.errors_base.as_str().to_owned()),
            instance: Some(request.urn().to_string()),
            correlation_id: current.as_ref().map(|request| request.id().to_owned()),
            had_key: self.had_key,
        };
        let problem = Problem::of(&self.error, &context);
        Problem { status: self.status.unwrap_or(problem.status), ..problem }
    }
}

/// The code of an error that was answered, for those who count answers.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredCode(pub Code);

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let problem = self.problem();
        log(&self.error, self.had_key, self.instance);
        let retryable = problem.retryable;
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if retryable && matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.error.code().backoff().as_secs()));
        }
        response.extensions_mut().insert(AnsweredCode(self.error.code()));
        response
    }
}

/// One line, as loud as the code asks for; a flood of one code is one line with a count.
///
/// A detail that the client is told may repeat what the client sent, so it stays out of the log; what else is
/// logged may come from a driver or an engine, which repeat values, so it is redacted.
fn log(error: &Error, had_key: bool, instance: Uuid) {
    let code = error.code();
    let known = code.descriptor();
    let missed = match sampled(code) {
        LogDecision::Count => return,
        LogDecision::Log => 0,
        LogDecision::LogAfter(missed) => missed,
    };
    // A request that is known has its id in its span.
    let request_id = Correlation::current().is_none().then(|| instance.to_string());
    let ours = known.visibility != Visibility::External;
    let detail = ours.then(|| redact(error.detail()));
    let cause = std::error::Error::source(error).filter(|_| ours).map(|cause| redact(&cause.to_string()));
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                error_code = code.as_str(),
                error_class = known.class.as_str(),
                retryable = code.retryable(had_key),
                sql_state = error.native(),
                constraint = error.constraint(),
                request_id,
                detail,
                cause,
                missed,
                "request failed"
            )
        };
    }
    match code.log_level() {
        Level::Debug => line!(debug),
        Level::Info => line!(info),
        Level::Warn => line!(warn),
        Level::Error => line!(error),
    }
}

fn sampled(code: Code) -> LogDecision {
    static SAMPLER: OnceLock<(Instant, Mutex<Sampler>)> = OnceLock::new();
    let (began, sampler) = SAMPLER.get_or_init(|| (Instant::now(), Mutex::new(Sampler::new())));
    let source = Correlation::current().and_then(|correlation| correlation.route).unwrap_or_default();
    sampler.lock().unwrap_or_else(PoisonError::into_inner).line(code, &source, began.elapsed())
}
