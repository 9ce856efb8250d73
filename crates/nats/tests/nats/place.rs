//! Streams for the tests, and who publishes to them and reads them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::stream::{Config, StorageType};
use async_nats::jetstream::{self, Context};
use onefold_conformance::publisher::events::unique;
use onefold_conformance::publisher::proxy::Proxy;
use onefold_conformance::publisher::{ConsumedEvent, PublisherHarness};
use onefold_core::outbox::DestinationTemplate;
use onefold_core::port::{EventSender, NoFaults, Publisher};
use onefold_nats::{Nats, NatsPublisher, NatsSettings};
use onefold_runtime::{OneAtATime, SystemClock};

/// Longer than a lease and a delivery of any test.
pub(crate) const WINDOW: Duration = Duration::from_mins(2);

/// `cargo xtask test` sets it.
pub(crate) fn shared() -> String {
    std::env::var("ONEFOLD_TEST_NATS").expect("ONEFOLD_TEST_NATS names a server: run `cargo xtask test`")
}

fn port(url: &str) -> u16 {
    url.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a URL with a port")
}

pub(crate) async fn context(server: &str) -> Context {
    jetstream::new(async_nats::connect(server).await.expect("the server answers"))
}

/// A stream of its own, for `<its name>.>`.
pub(crate) async fn make_stream(server: &str, change: impl FnOnce(&mut Config)) -> String {
    let name = unique("cases");
    let mut config = Config {
        name: name.clone(),
        subjects: vec![format!("{name}.>")],
        storage: StorageType::File,
        duplicate_window: WINDOW,
        ..Config::default()
    };
    change(&mut config);
    context(server).await.create_stream(config).await.expect("the stream is made");
    name
}

/// All that is in a stream, in its order.
pub(crate) async fn consumed(server: &str, stream: &str) -> Vec<ConsumedEvent> {
    let mut stream = context(server).await.get_stream(stream).await.expect("the stream is there");
    let last = stream.info().await.expect("it is described").state.last_sequence;
    let mut consumed = Vec::new();
    for sequence in 1..=last {
        let message = stream.get_raw_message(sequence).await.expect("the message is there");
        let value = |values: &Vec<async_nats::HeaderValue>| values[0].to_string();
        let carried = message.headers.iter().map(|(name, values)| (name.to_string(), value(values)));
        let mut event = ConsumedEvent::of("ce-", carried, message.payload.to_vec());
        event.content_type = event.headers.remove("content-type").unwrap_or_default();
        consumed.push(event);
    }
    consumed
}

pub(crate) fn template(text: &str) -> DestinationTemplate {
    DestinationTemplate::parse(text).unwrap()
}

/// A sender to the subject that the template names.
pub(crate) fn sender(server: &str, subject: &str) -> NatsPublisher {
    with(NatsSettings::new([server]), subject)
}

pub(crate) fn with(settings: NatsSettings, subject: &str) -> NatsPublisher {
    Nats::connect(settings).unwrap().subject(template(subject)).unwrap()
}

/// The same for whole pages, as a relay sends them.
pub(crate) fn paged(sender: impl EventSender + 'static) -> Box<dyn Publisher> {
    Box::new(OneAtATime::new(Arc::new(sender), Arc::new(SystemClock), Arc::new(NoFaults), 32))
}

pub(crate) fn publisher(server: &str, subject: &str) -> Box<dyn Publisher> {
    paged(sender(server, subject))
}

/// Payloads by their event's id.
pub(crate) async fn payloads(server: &str, stream: &str) -> BTreeMap<String, String> {
    let consumed = consumed(server, stream).await;
    consumed.iter().map(|event| (event.id().to_owned(), String::from_utf8_lossy(&event.payload).into_owned())).collect()
}

/// A stream on the shared server, behind a proxy.
pub(crate) struct Place {
    stream: String,
    proxy: Proxy,
}

impl PublisherHarness for Place {
    async fn open() -> Self {
        Self { stream: make_stream(&shared(), |_| {}).await, proxy: Proxy::to(port(&shared())).await }
    }

    fn publisher(&self) -> Box<dyn Publisher> {
        publisher(&format!("nats://127.0.0.1:{}", self.proxy.port()), &format!("{}.events", self.stream))
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    async fn consumed(&self) -> Vec<ConsumedEvent> {
        consumed(&shared(), &self.stream).await
    }
}
