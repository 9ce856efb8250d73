//! One connection to a server, and what the server says beside its answers.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectError, Event, ServerError};
use tokio::sync::watch;

use crate::fault::Fault;
use crate::message::Message;
use crate::settings::Servers;
use crate::stream::{KnownStreams, StreamFacts};

/// How long a connection may take to be made; a delivery that has less time ends it sooner.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Longer than any delivery: its own time ends a wait.
const NEVER: Duration = Duration::from_hours(24);

/// An open connection.
pub(crate) struct Connection {
    client: Client,
    context: Context,
    streams: KnownStreams,
    news: watch::Receiver<News>,
    end: watch::Sender<News>,
}

/// What a server said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
enum News {
    None,
    /// It does not let us publish there; its text names the subject.
    Refused(Arc<str>),
    /// The connection has ended. Whatever was on its way is not answered any more.
    Ended,
}

impl Connection {
    /// Connects to the first server that lets us in.
    pub(crate) async fn open(servers: &Servers) -> Result<Self, Fault> {
        let mut first = None;
        for address in &servers.addresses {
            let (end, news) = watch::channel(News::None);
            let told = end.clone();
            let options = servers
                .options()
                .connection_timeout(CONNECT_WITHIN)
                // It sends what waited once it is connected again, however late that is, and never answers for what
                // was on its way. So a connection that ends is replaced by a new client.
                .max_reconnects(1)
                .ignore_discovered_servers()
                .event_callback(move |event| {
                    let told = told.clone();
                    async move { hear(&told, &event) }
                });
            match options.connect(address.clone()).await {
                Ok(client) => {
                    let context = ContextBuilder::new().timeout(NEVER).ack_timeout(NEVER).build(client.clone());
                    return Ok(Self { client, context, streams: KnownStreams::default(), news, end });
                }
                Err(error) => first = first.or(Some(error)),
            }
        }
        let said: Option<ConnectError> = first;
        Err(said.map_or_else(|| Fault::lost("no server is named"), |error| Fault::of_connecting(&error)))
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.news.borrow() != News::Ended
    }

    /// What is known of the stream behind a subject.
    pub(crate) async fn stream(&self, subject: &str) -> Result<StreamFacts, Fault> {
        self.unless_told_otherwise(subject, self.streams.facts(&self.context, subject)).await
    }

    /// Everything is asked about again.
    pub(crate) fn forget_streams(&self) {
        self.streams.forget();
    }

    /// Publishes a message and waits for its stream's answer; where it is there.
    pub(crate) async fn publish(&self, message: Message) -> Result<Arc<str>, Fault> {
        let Message { subject, headers, payload } = message;
        let named = subject.clone();
        let acknowledged = async {
            let sent = self.context.publish_with_headers(subject, headers, payload).await;
            let acknowledged = sent.map_err(|error| Fault::of(&error))?.await.map_err(|error| Fault::of(&error))?;
            Ok(Arc::from(format!("{}/{}", acknowledged.stream, acknowledged.sequence)))
        };
        self.unless_told_otherwise(&named, acknowledged).await
    }

    /// It is of no more use: nobody waits for it any longer.
    pub(crate) fn end(&self) {
        self.end.send_replace(News::Ended);
    }

    /// Says goodbye; ends after this time in any case.
    pub(crate) async fn close(&self, within: Duration) {
        // A server that does not answer is left without a goodbye.
        let _ = tokio::time::timeout(within, self.client.drain()).await;
        self.end();
    }

    /// Waits for an answer as long as one can come.
    async fn unless_told_otherwise<T>(
        &self,
        subject: &str,
        answer: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let mut news = self.news.clone();
        news.mark_unchanged();
        if *news.borrow() == News::Ended {
            return Err(Fault::lost("the connection to NATS has ended"));
        }
        let quoted = format!("\"{subject}\"");
        let told = news.wait_for(|news| match news {
            News::None => false,
            News::Refused(text) => text.contains(&quoted),
            News::Ended => true,
        });
        tokio::select! {
            biased;
            answer = answer => answer,
            told = told => match told.as_deref() {
                Ok(News::Refused(text)) => Err(Fault::Place { reason: text.to_string() }),
                Ok(News::Ended | News::None) | Err(_) => Err(Fault::lost("the connection to NATS has ended")),
            },
        }
    }
}

#[allow(clippy::wildcard_enum_match_arm, reason = "the client's events may grow, and none but these ends a wait")]
fn hear(told: &watch::Sender<News>, event: &Event) {
    match event {
        Event::Disconnected | Event::Closed => {
            told.send_replace(News::Ended);
        }
        Event::ServerError(ServerError::Other(text)) => {
            tracing::warn!(error = text, "NATS does not take something");
            told.send_if_modified(|news| {
                let heard = *news != News::Ended;
                if heard {
                    *news = News::Refused(Arc::from(text.as_str()));
                }
                heard
            });
        }
        _ => {}
    }
}
