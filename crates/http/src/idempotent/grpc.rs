//! Refusals of unary gRPC calls: a status, with the registry's code in its details.

use std::collections::HashMap;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use onefold_core::Error;
use onefold_core::error::{
    Code as RegistryCode, IDEMPOTENCY_KEY_REUSED, OPERATION_IN_FLIGHT, OPERATION_WAITING, OUTCOME_UNKNOWN, Problem,
    ProblemContext, RESULT_UNAVAILABLE,
};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// Whose codes these are.
const DOMAIN: &str = "onefold";

pub(super) fn refusal(error: &Error, retry_after: Option<Duration>) -> Response {
    let problem = Problem::of(error, &ProblemContext { had_key: true, ..ProblemContext::default() });
    let mut details = ErrorDetails::new();
    let metadata: HashMap<String, String> = problem
        .facts
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    details.set_error_info(error.code().as_str(), DOMAIN, metadata);
    if let Some(wait) = retry_after {
        details.set_retry_info(Some(wait));
    }
    Status::with_error_details(code_of(error.code()), problem.detail, details).into_http::<Body>()
}

/// The gRPC code that says the same.
fn code_of(code: RegistryCode) -> Code {
    match code {
        _ if code == IDEMPOTENCY_KEY_REUSED => Code::InvalidArgument,
        _ if code == OPERATION_IN_FLIGHT || code == OPERATION_WAITING => Code::Aborted,
        _ if code == OUTCOME_UNKNOWN => Code::FailedPrecondition,
        _ if code == RESULT_UNAVAILABLE => Code::AlreadyExists,
        _ => match code.descriptor().status {
            400 | 405 | 415 | 422 => Code::InvalidArgument,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::NotFound,
            408 | 504 => Code::DeadlineExceeded,
            409 => Code::FailedPrecondition,
            413 | 429 => Code::ResourceExhausted,
            502 | 503 => Code::Unavailable,
            _ => Code::Internal,
        },
    }
}
