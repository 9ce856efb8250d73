//! The port: one event in, the broker's answer out, within its time.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::Result;
use onefold_core::outbox::DestinationTemplate;
use onefold_core::port::{BoxFuture, EventSender, OutgoingEvent, Publication};
use tokio::time::{Instant, timeout_at};

use crate::fault::{Fault, PlacesOf};
use crate::link::Link;
use crate::message::Message;
use crate::settings::RabbitMqSettings;

const NOT_FENCED: &str = "a relay that was paused beyond its lease may publish what was on its way once more, behind \
                          newer events; RabbitMQ drops no repeated message, and its message id stays the same";
/// How long a goodbye may take.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// A RabbitMQ broker to publish to.
#[derive(Debug, Clone)]
pub struct RabbitMq {
    settings: Arc<RabbitMqSettings>,
}

impl RabbitMq {
    /// A broker with these settings. Connections are opened by the first check or delivery, and again where they break.
    pub fn connect(settings: RabbitMqSettings) -> Result<Self> {
        settings.read()?;
        Ok(Self { settings: Arc::new(settings) })
    }

    /// A publisher to the exchange, and under the routing key, that the templates name for each event. None is the broker's
    /// default exchange, where a routing key is the name of a queue.
    ///
    /// It has a connection of its own.
    pub fn exchange(
        &self,
        exchange: Option<DestinationTemplate>,
        routing_key: DestinationTemplate,
    ) -> Result<RabbitMqPublisher> {
        let is_fixed = exchange.as_ref().is_none_or(|exchange| exchange.fixed().is_some());
        let places = if is_fixed && routing_key.fixed().is_some() { PlacesOf::Relay } else { PlacesOf::Events };
        Ok(RabbitMqPublisher { link: Link::new(self.settings.read()?), exchange, routing_key, places })
    }
}

/// The exchange of one relay.
pub struct RabbitMqPublisher {
    link: Link,
    exchange: Option<DestinationTemplate>,
    routing_key: DestinationTemplate,
    places: PlacesOf,
}

impl RabbitMqPublisher {
    /// Closes the connection; a later delivery opens another. Ends within a few seconds.
    pub async fn close(&self) {
        self.link.close(CLOSE_WITHIN).await;
    }

    async fn publish(&self, outgoing: &OutgoingEvent, within: Duration) -> std::result::Result<(), Fault> {
        let deadline = Instant::now() + within;
        let routing_key = self.routing_key.of(&outgoing.stored.event);
        let message = Message::of(outgoing, &routing_key)?;
        let connected = timeout_at(deadline, self.link.connection()).await;
        let connection = connected.unwrap_or_else(|_| Err(Fault::late("connecting")))?;
        let confirmed = timeout_at(deadline, connection.publish(message)).await;
        let confirmed = confirmed.unwrap_or_else(|_| Err(Fault::late("its confirmation")));
        if let Err(Fault::Target { .. }) = &confirmed {
            // What is given up must not be written later by itself.
            connection.cut();
        }
        confirmed
    }

    async fn ask(&self) -> std::result::Result<(), Fault> {
        let connection = self.link.connection().await?;
        match self.exchange.as_ref().and_then(DestinationTemplate::fixed) {
            Some(exchange) => connection.find_exchange(exchange).await,
            None => Ok(()),
        }
    }
}

impl EventSender for RabbitMqPublisher {
    fn target(&self) -> String {
        match &self.exchange {
            Some(exchange) => format!("rabbitmq {exchange} {}", self.routing_key),
            None => format!("rabbitmq {}", self.routing_key),
        }
    }

    fn destination(&self) -> Option<DestinationTemplate> {
        self.exchange.clone()
    }

    fn unfenced(&self) -> Option<&'static str> {
        Some(NOT_FENCED)
    }

    fn check(&self, _lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let asked = tokio::time::timeout(within, self.ask()).await;
            let asked = asked.unwrap_or_else(|_| Err(Fault::late("connecting")));
            asked.map_err(|fault| fault.of_check(&self.target()))
        })
    }

    fn send<'a>(&'a self, event: &'a OutgoingEvent, within: Duration) -> BoxFuture<'a, Publication> {
        Box::pin(async move {
            match self.publish(event, within).await {
                Ok(()) => Publication::Published { position: None },
                Err(fault) => fault.publication(self.places),
            }
        })
    }
}
