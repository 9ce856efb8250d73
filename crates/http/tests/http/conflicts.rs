//! What was read has changed since: the client is told what it based its change on, what is there, and what to do.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use onefold_core::Error;
use onefold_core::persistence::ConcurrencyConflict;
use onefold_http::ProblemResponse;
use serde_json::Value;

use crate::log::want_every_line;

#[tokio::test]
async fn an_optimistic_lock_conflict_is_409_with_both_versions_and_asks_to_read_again() {
    let conflict = ConcurrencyConflict::new("case CASE-7", 3, 5);
    want_every_line();
    let response = ProblemResponse::from(Error::from(conflict)).into_response();
    assert_eq!(response.status(), StatusCode::CONFLICT);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let problem: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(problem["code"], "OPTIMISTIC_LOCK_CONFLICT", "{problem}");
    assert_eq!((&problem["expectedVersion"], &problem["actualVersion"]), (&"3".into(), &"5".into()), "{problem}");
    assert_eq!(problem["resource"], "case CASE-7", "{problem}");
    assert_eq!(problem["next"], "read it again and decide again", "{problem}");
}
