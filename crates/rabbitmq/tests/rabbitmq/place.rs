//! Exchanges and queues for the tests, and who publishes to them and reads them.

use std::sync::Arc;

use lapin::options::{BasicAckOptions, BasicGetOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, ConnectionProperties, ExchangeKind};
use onefold_conformance::publisher::events::unique;
use onefold_conformance::publisher::proxy::Proxy;
use onefold_conformance::publisher::{ConsumedEvent, PublisherHarness};
use onefold_core::outbox::DestinationTemplate;
use onefold_core::port::{EventSender, NoFaults, Publisher};
use onefold_rabbitmq::{RabbitMq, RabbitMqPublisher, RabbitMqSettings};
use onefold_runtime::{OneAtATime, SystemClock};
use tokio::sync::Mutex;

/// `cargo xtask test` sets it.
pub(crate) fn shared() -> String {
    std::env::var("ONEFOLD_TEST_RABBITMQ").expect("ONEFOLD_TEST_RABBITMQ names a broker: run `cargo xtask test`")
}

pub(crate) fn port(url: &str) -> u16 {
    url.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a URL with a port")
}

/// A topic exchange and a durable queue of the same name, bound to it for every routing key that this pattern takes.
pub(crate) struct Queue {
    pub(crate) name: String,
    pub(crate) broker: String,
    /// What was taken out of the queue so far.
    taken: Mutex<Vec<ConsumedEvent>>,
}

pub(crate) async fn channel(broker: &str) -> (Connection, Channel) {
    let connection = Connection::connect(broker, ConnectionProperties::default()).await.expect("the broker answers");
    let channel = connection.create_channel().await.expect("a channel");
    (connection, channel)
}

impl Queue {
    pub(crate) async fn make(broker: &str, pattern: &str, arguments: &[(&str, AMQPValue)]) -> Self {
        let name = unique("cases");
        let (_connection, channel) = channel(broker).await;
        let mut table = FieldTable::default();
        for (key, value) in arguments {
            table.insert((*key).into(), value.clone());
        }
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let (exchange, queue) = (name.as_str(), name.as_str());
        channel.exchange_declare(exchange.into(), ExchangeKind::Topic, durable, FieldTable::default()).await.unwrap();
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(queue.into(), durable, table).await.unwrap();
        let options = QueueBindOptions::default();
        channel
            .queue_bind(queue.into(), exchange.into(), pattern.into(), options, FieldTable::default())
            .await
            .unwrap();
        Self { name, broker: broker.to_owned(), taken: Mutex::default() }
    }

    /// Everything that was ever in the queue, in its order.
    pub(crate) async fn consumed(&self) -> Vec<ConsumedEvent> {
        let mut taken = self.taken.lock().await;
        let (_connection, channel) = channel(&self.broker).await;
        while let Some(got) = channel.basic_get(self.name.as_str().into(), BasicGetOptions::default()).await.unwrap() {
            let properties = &got.delivery.properties;
            let table = properties.headers().clone().unwrap_or_default();
            let text = |value: &AMQPValue| value.as_long_string().map(ToString::to_string).unwrap_or_default();
            let carried = table.inner().iter().map(|(name, value)| (name.to_string(), text(value)));
            let mut event = ConsumedEvent::of("cloudEvents:", carried, got.delivery.data.clone());
            event.content_type = properties.content_type().as_ref().map(ToString::to_string).unwrap_or_default();
            assert_eq!(properties.message_id().as_ref().map(ToString::to_string).as_deref(), Some(event.id()));
            assert_eq!(*properties.delivery_mode(), Some(2), "it is written to disk");
            taken.push(event);
            got.delivery.acker.ack(BasicAckOptions::default()).await.unwrap();
        }
        taken.clone()
    }

    /// The payloads, in any order.
    pub(crate) async fn payloads(&self) -> Vec<String> {
        let consumed = self.consumed().await;
        let mut payloads: Vec<String> =
            consumed.iter().map(|event| String::from_utf8_lossy(&event.payload).into_owned()).collect();
        payloads.sort();
        payloads
    }
}

pub(crate) fn template(text: &str) -> DestinationTemplate {
    DestinationTemplate::parse(text).unwrap()
}

pub(crate) fn sender(broker: &str, exchange: &str, routing_key: &str) -> RabbitMqPublisher {
    with(RabbitMqSettings::new(broker), exchange, routing_key)
}

pub(crate) fn with(settings: RabbitMqSettings, exchange: &str, routing_key: &str) -> RabbitMqPublisher {
    let exchange = (!exchange.is_empty()).then(|| template(exchange));
    RabbitMq::connect(settings).unwrap().exchange(exchange, template(routing_key)).unwrap()
}

/// The same for whole pages, as a relay sends them.
pub(crate) fn paged(sender: impl EventSender + 'static) -> Box<dyn Publisher> {
    Box::new(OneAtATime::new(Arc::new(sender), Arc::new(SystemClock), Arc::new(NoFaults), 32))
}

/// A queue on the shared broker, behind a proxy.
pub(crate) struct Place {
    queue: Queue,
    proxy: Proxy,
}

impl PublisherHarness for Place {
    async fn open() -> Self {
        Self { queue: Queue::make(&shared(), "#", &[]).await, proxy: Proxy::to(port(&shared())).await }
    }

    fn publisher(&self) -> Box<dyn Publisher> {
        paged(sender(&format!("amqp://127.0.0.1:{}", self.proxy.port()), &self.queue.name, "{event_type}"))
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    async fn consumed(&self) -> Vec<ConsumedEvent> {
        self.queue.consumed().await
    }
}
