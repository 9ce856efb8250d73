//! A use case's own result as an answer.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use onefold_core::use_case::{Project, Projection};
use serde::Serialize;

use crate::problem_response::ProblemResponse;

/// Answers with a result: its JSON under its status where it is a success, its problem where it is not.
#[derive(Debug)]
pub struct Projected<T>(pub T);

impl<T: Project + Serialize> IntoResponse for Projected<T> {
    fn into_response(self) -> Response {
        match self.0.projection() {
            Projection::Success { status, .. } => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
                (status, Json(self.0)).into_response()
            }
            Projection::Failure { status, error } => ProblemResponse::from(*error).status(status).into_response(),
        }
    }
}
