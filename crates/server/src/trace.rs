//! Traces over OTLP: every request is a span, and belongs to the trace that its headers name.

use std::time::Duration;

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};
use onefold_runtime::trace::{self, Propagate};
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// How long the last spans may take to leave.
const LAST_WITHIN: Duration = Duration::from_secs(5);
/// How long a collector may take for one batch.
const EXPORT_WITHIN: Duration = Duration::from_secs(10);

/// Spans on their way to a collector.
#[derive(Debug, Clone)]
pub(crate) struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Sends spans to this collector from now on. One that is not there is no error: spans are lost, requests are not.
    pub(crate) fn start(endpoint: &str) -> Result<Self> {
        // A second installation of the same provider is refused, and harmless.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(EXPORT_WITHIN).build();
        let exporter = exporter.map_err(|cause| {
            Error::new(CONFIGURATION_INVALID, format!("otlp: {endpoint:?} is not the address of a collector"))
                .hint("write the address of a collector that takes OTLP over gRPC, such as http://127.0.0.1:4317")
                .caused_by(cause)
        })?;
        let resource = Resource::builder().with_service_name("onefold").build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        trace::install(W3c { propagator: TraceContextPropagator::new() });
        Ok(Self { provider })
    }

    /// What makes spans of the program's own.
    pub(crate) fn tracer(&self) -> Tracer {
        self.provider.tracer("onefold")
    }

    /// Lets the last spans leave.
    pub(crate) async fn end(self) {
        let last = move || self.provider.shutdown_with_timeout(LAST_WITHIN);
        if let Ok(Err(cause)) = tokio::task::spawn_blocking(last).await {
            tracing::warn!(%cause, "the last spans could not be sent");
        }
    }
}

/// W3C trace context: `traceparent` and `tracestate`.
struct W3c {
    propagator: TraceContextPropagator,
}

impl Propagate for W3c {
    fn adopt(&self, span: &Span, header: &dyn Fn(&str) -> Option<String>) {
        let read = HeaderReader(self.propagator.fields().filter_map(|name| Some((name, header(name)?))).collect());
        // A span that is not recorded has no parent to set.
        let _ = span.set_parent(self.propagator.extract(&read));
    }

    fn pass_on(&self, span: &Span, set: &mut dyn FnMut(&str, String)) {
        self.propagator.inject_context(&span.context(), &mut HeaderWriter(set));
    }
}

struct HeaderReader<'a>(Vec<(&'a str, String)>);

impl Extractor for HeaderReader<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

struct HeaderWriter<'a>(&'a mut dyn FnMut(&str, String));

impl Injector for HeaderWriter<'_> {
    fn set(&mut self, key: &str, value: String) {
        // An empty state is not worth a header.
        if !value.is_empty() {
            (self.0)(key, value);
        }
    }
}
