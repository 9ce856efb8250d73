//! A panic is a defect of ours: logged without its message, which may hold anything, and answered without it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::response::{IntoResponse as _, Response};
use onefold_core::Error;
use onefold_core::error::INTERNAL_ERROR;
use tower_http::catch_panic::CatchPanicLayer;

use crate::problem_response::ProblemResponse;

/// The layer that [`catch_panics`] makes.
pub type PanicLayer = CatchPanicLayer<fn(Box<dyn Any + Send + 'static>) -> Response>;

/// A layer that answers a panic through the registry.
pub fn catch_panics() -> PanicLayer {
    CatchPanicLayer::custom(answered as fn(Box<dyn Any + Send + 'static>) -> Response)
}

/// Answers a panic of `work` through the registry, as the layer does, where a layer more would cost.
pub async fn catching_panics(work: impl Future<Output = Response>) -> Response {
    let mut work = pin!(work);
    // What panicked is not asked again.
    let poll = |context: &mut std::task::Context<'_>| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(answered(panic)))
    };
    std::future::poll_fn(poll).await
}

/// From now on a panic is a log line with its place and without its message, which may hold anything.
///
/// For a process whose stderr is its log. It needs a `tracing` subscriber: without one a panic says nothing.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked");
    }));
}

fn answered(_panic: Box<dyn Any + Send + 'static>) -> Response {
    ProblemResponse::from(Error::new(INTERNAL_ERROR, "a handler panicked")).into_response()
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::http::Request;
    use axum::routing::get;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use crate::answer_every_error;

    async fn broken() {
        panic!("the password is hush");
    }

    #[tokio::test]
    async fn a_panic_is_answered_without_a_layer_too() {
        let response = super::catching_panics(async {
            tokio::task::yield_now().await;
            broken().await;
            unreachable!("it panicked")
        });
        assert_eq!(response.await.status(), 500);
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_without_its_message() {
        let app: Router = answer_every_error(Router::new().route("/broken", get(broken)));
        let request = Request::get("/broken").header("x-correlation-id", "corr-7").body(Body::empty()).unwrap();
        let response = app.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&problem["code"], &problem["correlationId"]), (&"INTERNAL_ERROR".into(), &"corr-7".into()));
        let text = problem.to_string();
        assert!(!text.contains("hush") && !text.contains("panick"), "{text}");
    }
}
