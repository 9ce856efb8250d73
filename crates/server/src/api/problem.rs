//! Every error as `application/problem+json`.

use std::any::Any;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onefold_core::Error;
use onefold_core::error::{Code, Owner, Retryability, UNEXPECTED, Visibility};
use serde::Serialize;
use utoipa::ToSchema;

/// What is wrong, who must act, whether a retry is safe.
#[derive(Debug)]
pub(crate) struct Problem(Error);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

/// The error's code, for whoever counts and logs answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered(pub(crate) Code);

/// An error, by RFC 9457.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// A page about this code.
    #[schema(example = "/errors/lease-superseded")]
    r#type: String,
    /// A short title; the same for every problem of this code.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened here.
    detail: String,
    /// What to do next.
    next: String,
    /// The registry's code.
    #[schema(example = "LEASE_SUPERSEDED")]
    code: &'static str,
    /// Whether sending the same request again may help and cannot harm.
    retryable: bool,
    /// Who must act.
    #[schema(example = "CALLER")]
    owner: &'static str,
}

impl ProblemBody {
    pub(crate) fn of(error: &Error) -> Self {
        let descriptor = error.code().descriptor();
        let external = descriptor.visibility == Visibility::External;
        Self {
            r#type: format!("/errors/{}", kebab(descriptor.code)),
            title: descriptor.title,
            status: descriptor.status,
            detail: if external { error.detail() } else { descriptor.guide.summary }.to_owned(),
            next: if external { error.next_step() } else { descriptor.guide.safe_action }.to_owned(),
            code: descriptor.code,
            // Every call of this API is recognised by an attempt id or changes nothing.
            retryable: matches!(
                descriptor.retryability,
                Retryability::Safe | Retryability::AfterBackoff | Retryability::OnlyIfIdempotent
            ),
            owner: owner(descriptor.owner),
        }
    }
}

/// A code as it stands in an address.
pub(crate) fn kebab(code: &str) -> String {
    code.to_ascii_lowercase().replace('_', "-")
}

const fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Caller => "CALLER",
        Owner::User => "USER",
        Owner::Application => "APPLICATION",
        Owner::Platform => "PLATFORM",
        Owner::UpstreamProducer => "UPSTREAM_PRODUCER",
        Owner::DataRepair => "DATA_REPAIR",
        Owner::Engineering => "ENGINEERING",
        Owner::Operator => "OPERATOR",
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let code = self.0.code();
        let status = StatusCode::from_u16(code.descriptor().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            let cause = std::error::Error::source(&self.0).map(ToString::to_string);
            tracing::error!(error_code = %code, detail = self.0.detail(), cause, "request failed");
        }
        let mut response = (status, axum::Json(ProblemBody::of(&self.0))).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response.extensions_mut().insert(Answered(code));
        response
    }
}

/// A panic is a defect of ours: logged with its message, answered without it.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over")]
pub(crate) fn of_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message =
        panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    tracing::error!(panic = message.unwrap_or_default(), "a handler panicked");
    Problem(Error::new(UNEXPECTED, "this request met a defect")).into_response()
}
