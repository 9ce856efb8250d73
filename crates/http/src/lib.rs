//! Errors over HTTP, for our own server and for anyone's axum service: one registry, one shape.
//!
//! ```
//! use axum::{Router, routing::post};
//! use onefold_http::{Body, ProblemResponse, answer_every_error};
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Order { chairs: u32 }
//!
//! async fn order(Body(order): Body<Order>) -> Result<String, ProblemResponse> {
//!     Ok(format!("{} chairs", order.chairs))
//! }
//!
//! let app: Router = answer_every_error(Router::new().route("/orders", post(order)));
//! # let _ = app;
//! ```
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `problem_response` | an error as `application/problem+json`, and as a log line |
//! | `extract` | bodies, queries, paths and headers; each mistake with its place |
//! | `respond` | a use case's own result as an answer |
//! | `pages` | the pages of error codes, and where a problem's `type` points |
//! | `correlate` | the correlation id of every request, and its metrics |
//! | `caller` | who calls: a stable, verified subject |
//! | `idempotent` | `Idempotency-Key`: a request takes hold once |
//! | `listen` | one listener for every server: limits, TLS, a drain (feature `listen`) |
//! | `client` | outgoing calls (feature `client`) |
//! | `panics` | a panic is a defect of ours, answered without its message |

mod caller;
#[cfg(feature = "client")]
pub mod client;
mod correlate;
mod extract;
pub mod idempotent;
#[cfg(feature = "listen")]
pub mod listen;
#[cfg(feature = "client")]
mod network;
mod pages;
mod panics;
mod problem_response;
mod respond;

pub use caller::{Anonymous, Caller, FromRequest, Identify};
pub use correlate::{Correlation, correlate, correlate_with, correlating};
pub use extract::{Body, Path, Query, required_header};
pub use pages::{ErrorsBase, error_page, error_pages, markdown};
pub use panics::{PanicLayer, catch_panics, catching_panics, log_panics};
pub use problem_response::{AnsweredCode, ProblemResponse};
pub use respond::Projected;

use axum::Router;
use axum::extract::Request;
use axum::middleware;
use onefold_core::Error;
use onefold_core::error::{METHOD_NOT_ALLOWED, ROUTE_NOT_FOUND};

/// Answers whatever goes wrong in a router through the registry: unknown routes and methods, panics, and every
/// [`ProblemResponse`]; each answer carries its correlation id.
///
/// A problem's `type` points to `/errors/{code}` of the same service: [`error_pages`] serves those, and
/// [`answer_every_error_at`] names another place.
pub fn answer_every_error<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    answer_every_error_at(router, ErrorsBase::default())
}

/// The same for a service whose codes have their pages elsewhere.
pub fn answer_every_error_at<S: Clone + Send + Sync + 'static>(router: Router<S>, base: ErrorsBase) -> Router<S> {
    router
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(catch_panics())
        .layer(middleware::from_fn_with_state(base, correlate_with))
}

/// There is no such route.
pub async fn no_route(request: Request) -> ProblemResponse {
    Error::new(ROUTE_NOT_FOUND, format!("there is no {}", short(request.uri().path()))).into()
}

/// The route does not take this method.
pub async fn no_method(request: Request) -> ProblemResponse {
    let what = format!("{} does not take {}", short(request.uri().path()), request.method());
    Error::new(METHOD_NOT_ALLOWED, what).into()
}

fn short(path: &str) -> String {
    path.chars().take(200).collect()
}
