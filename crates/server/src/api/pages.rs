//! Pages for a person at three in the morning: error codes and runbooks, readable without a token.

use axum::response::{IntoResponse as _, Response};
use onefold_core::Error;
use onefold_core::error::{ALL, ROUTE_NOT_FOUND};
use onefold_core::incident::{RUNBOOKS, runbook_page};
use onefold_http::{Path, markdown};

use super::problem_response::{Problem, ProblemBody};

/// The page of an error code: what is wrong, what to check first, what is safe.
#[utoipa::path(
    get, path = "/errors/{code}", tag = "server", security(()),
    params(("code" = String, Path, description = "A code in small letters with dashes")),
    responses(
        (status = 200, description = "The page", body = String, content_type = "text/markdown"),
        (status = "4XX", description = "There is no such code", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn error_page(Path(code): Path<String>) -> Response {
    onefold_http::error_page(ALL, &code).unwrap_or_else(axum::response::IntoResponse::into_response)
}

/// A runbook: what an incident's `runbook` names.
#[utoipa::path(
    get, path = "/runbooks/{name}", tag = "server", security(()),
    params(("name" = String, Path, description = "The runbook's name, such as `unknown-outcome`")),
    responses(
        (status = 200, description = "The page", body = String, content_type = "text/markdown"),
        (status = "4XX", description = "There is no such runbook", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn runbook(Path(name): Path<String>) -> Response {
    match runbook_page(&name) {
        Some(page) => markdown(page),
        None => Problem::from(
            Error::new(ROUTE_NOT_FOUND, "there is no such runbook").hint(format!("use one of {}", RUNBOOKS.join(", "))),
        )
        .into_response(),
    }
}
