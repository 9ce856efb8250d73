//! The routes. Whatever goes wrong is answered through the registry.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use onefold::error::{Error, Result};
use onefold::http::idempotent::{Idempotent as _, LocalOperation, Route};
use onefold::http::{Body, Path, ProblemResponse, Projected, answer_every_error, error_pages};
use onefold::store::Sqlite;
use serde_json::Value;

use crate::errors::{CASE_DUPLICATE_SUBMISSION, CASE_NOT_FOUND};
use crate::request::Submission;
use crate::store::Case;
use crate::submit::{Cases, Submit};

/// The whole service.
pub fn routes(cases: Cases) -> Result<Router> {
    // The source text's answers to a duplicate: the same result under 200, also to callers that nobody identified.
    let once = Route::local("case.submit").reused(409, CASE_DUPLICATE_SUBMISSION).replay_status(200).anonymous_replay();
    let submitting = post(submit).layer(cases.ledger().idempotent(once)?);
    let router = Router::new().route("/cases", submitting).route("/cases/{id}", get(show)).with_state(cases);
    // A problem's `type` points here: the codes of this service, and those of what it is built on.
    let pages = error_pages([crate::errors::ALL, onefold::error::ALL].concat());
    Ok(answer_every_error(router.merge(pages)))
}

async fn submit(
    State(cases): State<Cases>,
    operation: LocalOperation<Sqlite>,
    Body(body): Body<Value>,
) -> Result<Response, ProblemResponse> {
    let submission = Submission::read(&body)?;
    Ok(match cases.submit(operation, submission).await {
        Submit::Answered(answer) => answer,
        Submit::Decided(decision) => Projected(decision).into_response(),
    })
}

async fn show(State(cases): State<Cases>, Path(id): Path<String>) -> Result<Json<Case>, ProblemResponse> {
    let found = cases.find(&id).await?;
    Ok(Json(found.ok_or_else(|| Error::new(CASE_NOT_FOUND, "there is no case with this id"))?))
}
