//! The trace that a request belongs to: taken from its headers, and passed on with whatever is sent for it.
//!
//! No exporter is known here. Whoever runs one installs how it reads and writes trace headers; without one,
//! headers go through as they came.

use std::sync::OnceLock;

use axum::http::HeaderMap;
use tracing::Span;

/// How an exporter reads and writes the headers of a trace, such as W3C `traceparent`.
pub trait Propagate: Send + Sync {
    /// The span belongs to the trace that these headers name, if they name one.
    fn adopt(&self, span: &Span, headers: &HeaderMap);
    /// The headers name the span's trace, and the span as the parent of what follows.
    fn pass_on(&self, span: &Span, headers: &mut HeaderMap);
}

static INSTALLED: OnceLock<Box<dyn Propagate>> = OnceLock::new();

/// Installs an exporter's way for the whole process. The first one stays.
pub fn install(propagate: impl Propagate + 'static) {
    drop(INSTALLED.set(Box::new(propagate)));
}

/// The span belongs to the trace that these headers name. To be called before the span is entered.
pub fn adopt(span: &Span, headers: &HeaderMap) {
    if let Some(propagate) = INSTALLED.get() {
        propagate.adopt(span, headers);
    }
}

/// What is sent with these headers belongs to the trace of the current span.
pub fn pass_on(headers: &mut HeaderMap) {
    if let Some(propagate) = INSTALLED.get() {
        propagate.pass_on(&Span::current(), headers);
    }
}
