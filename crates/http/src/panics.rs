//! A panic is a defect of ours: logged without its message, which may hold anything, and answered without it.

use std::any::Any;

use axum::response::{IntoResponse as _, Response};
use onefold_core::Error;
use onefold_core::error::INTERNAL_ERROR;
use tower_http::catch_panic::CatchPanicLayer;

use crate::rejection::Rejection;

/// The layer that [`catch_panics`] makes.
pub type PanicLayer = CatchPanicLayer<fn(Box<dyn Any + Send + 'static>) -> Response>;

/// A layer that answers a panic through the registry.
pub fn catch_panics() -> PanicLayer {
    CatchPanicLayer::custom(answered as fn(Box<dyn Any + Send + 'static>) -> Response)
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
    Rejection::from(Error::new(INTERNAL_ERROR, "a handler panicked")).into_response()
}
