//! The port: one event in, its stream's answer out, within its time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use onefold_core::error::Result;
use onefold_core::outbox::DestinationTemplate;
use onefold_core::port::{BoxFuture, EventSender, OutgoingEvent, Publication};
use tokio::time::{Instant, timeout_at};

use crate::connection::Connection;
use crate::fault::{Fault, SubjectsOf};
use crate::link::Link;
use crate::message::Message;
use crate::settings::NatsSettings;

const NOT_FENCED: &str = "a relay that was paused for longer than the stream's duplicate window may publish what was on \
                          its way once more, behind newer events; within the window the stream drops it";
/// How long a goodbye may take.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// NATS servers to publish to.
#[derive(Debug, Clone)]
pub struct Nats {
    settings: Arc<NatsSettings>,
}

impl Nats {
    /// Servers with these settings. Connections are opened by the first check or delivery, and again where they break.
    pub fn connect(settings: NatsSettings) -> Result<Self> {
        settings.read()?;
        Ok(Self { settings: Arc::new(settings) })
    }

    /// A publisher to the subject that the template names for each event. It has a connection of its own.
    pub fn subject(&self, template: DestinationTemplate) -> Result<NatsPublisher> {
        let subjects = if template.fixed().is_some() { SubjectsOf::Relay } else { SubjectsOf::Events };
        let link = Link::new(self.settings.read()?);
        Ok(NatsPublisher { link, template, subjects, window_for: OnceLock::new() })
    }
}

/// The subjects of one relay.
pub struct NatsPublisher {
    link: Link,
    template: DestinationTemplate,
    subjects: SubjectsOf,
    /// What a stream's duplicate window must exceed, once the check has said it.
    window_for: OnceLock<Duration>,
}

impl NatsPublisher {
    /// Closes the connection; a later delivery opens another. Ends within a few seconds.
    pub async fn close(&self) {
        self.link.close(CLOSE_WITHIN).await;
    }

    async fn publish(&self, outgoing: &OutgoingEvent, within: Duration) -> std::result::Result<Arc<str>, Fault> {
        let deadline = Instant::now() + within;
        let message = Message::of(outgoing)?;
        let connected = timeout_at(deadline, self.link.connection()).await;
        let connection = connected.unwrap_or_else(|_| Err(Fault::late("connecting")))?;
        let stored = timeout_at(deadline, self.store(&connection, message)).await;
        let stored = stored.unwrap_or_else(|_| Err(Fault::late("its acknowledgement")));
        match &stored {
            // What is given up must not be sent later by itself.
            Err(Fault::Target { .. }) => connection.end(),
            // A stream may have gone, or been edited.
            Err(Fault::Place { .. } | Fault::Busy { .. } | Fault::Window { .. }) => connection.forget_streams(),
            Err(Fault::Event { .. } | Fault::NotLetIn { .. }) | Ok(_) => {}
        }
        stored
    }

    async fn store(&self, connection: &Connection, message: Message) -> std::result::Result<Arc<str>, Fault> {
        self.find_stream(connection, &message.subject).await?;
        connection.publish(message).await
    }

    /// Whether a stream has the subject, and a window that is long enough.
    async fn find_stream(&self, connection: &Connection, subject: &str) -> std::result::Result<(), Fault> {
        let facts = connection.stream(subject).await?;
        self.window_for.get().map_or(Ok(()), |needed| facts.outlasts(*needed))
    }

    async fn ask(&self) -> std::result::Result<(), Fault> {
        let connection = self.link.connection().await?;
        connection.forget_streams();
        match self.template.fixed() {
            Some(subject) => self.find_stream(&connection, subject).await,
            None => Ok(()),
        }
    }
}

impl EventSender for NatsPublisher {
    fn target(&self) -> String {
        format!("nats {}", self.template)
    }

    fn destination(&self) -> Option<DestinationTemplate> {
        Some(self.template.clone())
    }

    fn unfenced(&self) -> Option<&'static str> {
        Some(NOT_FENCED)
    }

    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            // A relay's times do not change while it runs.
            self.window_for.get_or_init(|| lease_for + within);
            let asked = tokio::time::timeout(within, self.ask()).await;
            let asked = asked.unwrap_or_else(|_| Err(Fault::late("connecting")));
            asked.map_err(|fault| fault.of_check(&self.target()))
        })
    }

    fn send<'a>(&'a self, event: &'a OutgoingEvent, within: Duration) -> BoxFuture<'a, Publication> {
        Box::pin(async move {
            match self.publish(event, within).await {
                Ok(position) => Publication::Published { position: Some(position) },
                Err(fault) => fault.publication(self.subjects),
            }
        })
    }
}
