//! One connection to the broker, with its channels.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_rs::TokioRuntime;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions};
use lapin::tcp::{AMQPUriTcpExt as _, RustlsConnector};
use lapin::types::FieldTable;
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{AsyncTcpStream, Channel, Confirmation, ConnectionProperties, ExchangeKind};
use tokio::sync::Semaphore;

use crate::fault::Fault;
use crate::message::Message;
use crate::settings::Address;

/// Messages that are on their way at once, each on a channel of its own. Brokers allow some two thousand.
const CHANNELS_MAX: usize = 512;
/// How long a connection may take to be made; a delivery that has less time ends it sooner.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// An open connection.
pub(crate) struct Connection {
    client: lapin::Connection,
    idle: Mutex<Vec<Channel>>,
    slots: Semaphore,
    socket: Socket,
}

impl Connection {
    /// Connects and signs in. Dropped before it has, it leaves nothing behind.
    pub(crate) async fn open(address: &Address) -> Result<Self, Fault> {
        let socket = Socket::default();
        let cut_unless_open = CutOnDrop(Some(socket.clone()));
        let properties = ConnectionProperties::default().with_connection_name(address.name.as_str().into());
        let tls = address.tls.clone().map(|(config, name)| (RustlsConnector::from(config), name));
        let kept = socket.clone();
        let connect = async move |uri: AMQPUri, runtime: TokioRuntime| {
            log_nothing_here();
            let connected = async {
                // The client's own TLS trusts what the system trusts beside what we say.
                let plain = AMQPUri { scheme: AMQPScheme::AMQP, ..uri };
                let stream = plain.connect_async(&runtime).await?;
                if let AsyncTcpStream::Plain(stream) = &stream {
                    kept.keep(TcpStream::from(stream.get_ref().as_fd().try_clone_to_owned()?));
                }
                match &tls {
                    Some((connector, name)) => stream.into_rustls(connector, name).await,
                    None => Ok(stream),
                }
            };
            let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
            Ok(tokio::time::timeout(CONNECT_WITHIN, connected).await.map_err(late)??)
        };
        let runtime = TokioRuntime::tokio_current();
        let opened = lapin::Connection::connector(address.uri.clone(), runtime, connect, properties).await;
        let client = opened.map_err(|error| Fault::of_connecting(&error))?;
        cut_unless_open.disarm();
        let slots = Semaphore::new(CHANNELS_MAX.min(usize::from(client.configuration().channel_max()).max(1)));
        Ok(Self { client, idle: Mutex::default(), slots, socket })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.socket.is_cut() && self.client.status().connected()
    }

    /// Publishes a message and waits for what the broker says about it.
    pub(crate) async fn publish(&self, message: Message<'_>) -> Result<(), Fault> {
        let _slot = self.slots.acquire().await.map_err(|_| Fault::lost("the connection is closed"))?;
        let idle = self.idle().pop();
        let channel = match idle {
            Some(channel) => channel,
            None => self.channel().await.map_err(|error| Fault::of(&error))?,
        };
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let Message { exchange, routing_key, payload, properties } = message;
        let sent = channel.basic_publish(exchange, routing_key, options, payload, properties).await;
        let confirmed = match sent {
            Ok(confirm) => confirm.await,
            Err(error) => Err(error),
        };
        let confirmation = confirmed.map_err(|error| Fault::of(&error))?;
        // It has answered about its one message, so it may carry the next.
        self.idle().push(channel);
        match confirmation {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => {
                Err(Fault::Place { reason: format!("RabbitMQ returned it: {}", returned.reply_text) })
            }
            Confirmation::Nack(None) => Err(Fault::Queue),
            Confirmation::NotRequested => Err(Fault::lost("RabbitMQ does not confirm messages")),
        }
    }

    /// Whether this exchange is there.
    pub(crate) async fn find_exchange(&self, name: &str) -> Result<(), Fault> {
        let channel = self.client.create_channel().await.map_err(|error| Fault::of(&error))?;
        let options = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
        // A passive declaration compares nothing but the name.
        let found = channel.exchange_declare(name.into(), ExchangeKind::Direct, options, FieldTable::default()).await;
        found.map_err(|error| Fault::of(&error))
    }

    /// Ends it at once, with whatever is still in its buffers.
    pub(crate) fn cut(&self) {
        self.socket.cut();
    }

    /// Says goodbye, and ends it after this time in any case.
    pub(crate) async fn close(&self, within: Duration) {
        // A broker that does not answer is left without a goodbye.
        let _ = tokio::time::timeout(within, self.client.close(200, "bye".into())).await;
        self.cut();
    }

    async fn channel(&self) -> lapin::Result<Channel> {
        let channel = self.client.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(channel)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Channel>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client has a thread for each connection. It logs every message that is returned to it, with its payload, and there
/// is no other way to stop it.
fn log_nothing_here() {
    std::mem::forget(tracing::subscriber::set_default(tracing::subscriber::NoSubscriber::default()));
}

/// The connection's socket, once there is one. The client cannot be told to give up: it goes on for as long as its
/// socket does, also with a broker that never answers.
#[derive(Clone, Default)]
struct Socket(Arc<Mutex<Option<TcpStream>>>);

impl Socket {
    fn keep(&self, socket: TcpStream) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
    }

    fn is_cut(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn cut(&self) {
        if let Some(socket) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It may have ended already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// Cuts a connection that nobody waits for any more.
struct CutOnDrop(Option<Socket>);

impl CutOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        if let Some(socket) = &self.0 {
            socket.cut();
        }
    }
}
