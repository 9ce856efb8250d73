//! Every error as `application/problem+json`, described for the API's readers.

use axum::response::{IntoResponse, Response};
use onefold_core::Error;
use onefold_core::error::Problem as Shown;
use onefold_http::ProblemResponse;
use utoipa::ToSchema;

/// An error of the API. Every call is recognised by an attempt id or changes nothing, so sending it again cannot harm.
#[derive(Debug)]
pub(crate) struct Problem(Error);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        ProblemResponse::from(self.0).had_key().into_response()
    }
}

/// A problem inside an answer about many.
pub(crate) fn shown(error: Error) -> Shown {
    ProblemResponse::from(error).had_key().problem()
}

/// An error, by RFC 9457.
#[derive(Debug, ToSchema)]
#[schema(as = Problem, rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes core's problem, which knows nothing of schemas")]
pub(crate) struct ProblemBody {
    /// A page about this code.
    #[schema(example = "/errors/lease-superseded")]
    r#type: String,
    /// A short title; the same for every problem of this code.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What happened here.
    detail: String,
    /// What to do next.
    next: String,
    /// This one failure: its log lines have the same id as `request_id`.
    #[schema(example = "urn:uuid:6f0b1f5e-6c1c-4bb2-9a57-2f9c0f0e1b7a")]
    instance: String,
    /// The registry's code.
    #[schema(example = "LEASE_SUPERSEDED")]
    code: String,
    /// The trace it belongs to.
    correlation_id: Option<String>,
    /// Whether sending the same request again may help and cannot harm.
    retryable: bool,
    /// Who must act.
    #[schema(example = "CALLER")]
    owner: String,
    /// In how many seconds it may be sent again, where that is known.
    retry_after_seconds: Option<u64>,
    /// What exactly is wrong with what was sent.
    #[schema(value_type = Option<Vec<ViolationBody>>)]
    violations: Vec<ViolationBody>,
}

/// One thing that is wrong with what was sent.
#[derive(Debug, ToSchema)]
#[schema(as = Violation)]
#[expect(dead_code, reason = "it describes core's violation, which knows nothing of schemas")]
pub(crate) struct ViolationBody {
    /// Where, as a JSON path.
    #[schema(example = "$.evidence[0].occurredAt")]
    path: String,
    code: String,
    message: String,
    /// `ERROR` or `WARNING`.
    severity: String,
}
