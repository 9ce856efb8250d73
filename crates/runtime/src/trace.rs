//! The trace that something belongs to: taken from its headers, and passed on with whatever is sent for it.
//!
//! Requests, events, messages and jobs carry a trace in headers of their own sort, so headers are read and written
//! through closures. No exporter is known here: a program that runs one installs how it reads and writes trace headers,
//! and without one nothing is read or written.

use std::sync::OnceLock;

use tracing::Span;

/// How an exporter reads and writes the headers of a trace, such as W3C `traceparent`.
pub trait Propagate: Send + Sync {
    /// The span belongs to the trace that these headers name, if they name one.
    fn adopt(&self, span: &Span, header: &dyn Fn(&str) -> Option<String>);
    /// The headers name the span's trace, and the span as the parent of what follows.
    fn pass_on(&self, span: &Span, set: &mut dyn FnMut(&str, String));
}

static INSTALLED: OnceLock<Box<dyn Propagate>> = OnceLock::new();

/// Installs an exporter's way for the whole process. The first one stays.
pub fn install(propagate: impl Propagate + 'static) {
    drop(INSTALLED.set(Box::new(propagate)));
}

/// The span belongs to the trace that these headers name. To be called before the span is entered.
pub fn adopt(span: &Span, header: &dyn Fn(&str) -> Option<String>) {
    if let Some(propagate) = INSTALLED.get() {
        propagate.adopt(span, header);
    }
}

/// What is sent with these headers belongs to the trace of the current span.
pub fn pass_on(set: &mut dyn FnMut(&str, String)) {
    if let Some(propagate) = INSTALLED.get() {
        propagate.pass_on(&Span::current(), set);
    }
}
