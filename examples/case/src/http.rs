//! The routes. Whatever goes wrong is answered through the registry.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use onefold::OperationId;
use onefold::error::{Error, IDEMPOTENCY_KEY_INVALID};
use onefold::http::{Body, Path, Projected, Rejection, answer_every_error, required_header};
use serde_json::Value;

use crate::errors::CASE_NOT_FOUND;
use crate::request::Submission;
use crate::store::Case;
use crate::submit::Cases;

/// The header whose value names a submission.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// The whole service.
pub fn routes(cases: Cases) -> Router {
    let router = Router::new().route("/cases", post(submit)).route("/cases/{id}", get(show)).with_state(cases);
    answer_every_error(router)
}

async fn submit(
    State(cases): State<Cases>,
    headers: HeaderMap,
    Body(body): Body<Value>,
) -> Result<Response, Rejection> {
    let key = required_header(&headers, IDEMPOTENCY_KEY)?;
    let key = OperationId::parse(key).map_err(|cause| Error::new(IDEMPOTENCY_KEY_INVALID, cause.detail()))?;
    let submission = Submission::read(&body)?;
    Ok(Projected(cases.submit(key, submission).await).into_response())
}

async fn show(State(cases): State<Cases>, Path(id): Path<String>) -> Result<Json<Case>, Rejection> {
    let found = cases.find(&id).await?;
    Ok(Json(found.ok_or_else(|| Error::new(CASE_NOT_FOUND, "there is no case with this id"))?))
}
