//! Connections within limits: TCP or a Unix socket, TLS, and a drain before the end.

use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer}; // tidy: allow(the name is hyper's)
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use onefold_core::error::ADDRESS_UNAVAILABLE;
use onefold_core::{Error, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::door::Gateway;
use super::first::FirstBytes;
use super::peer::{ClientCertificate, Peer, Transport};
use super::strict::Strict;
use super::tls::{ServerTls, subject};
use super::upgrade::Place;
use crate::panics::catch_panics;

/// How often a silent HTTP/2 client is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// Where a gateway listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAt {
    /// An address.
    Tcp(SocketAddr),
    /// A socket file, for its owner and group.
    Unix(PathBuf),
}

impl std::fmt::Display for ListenAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// What one gateway takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; more wait.
    pub connections_max: usize,
    /// How long a handshake, and then the head of a request, may take.
    pub headers_within: Duration,
    /// Bytes that the head of a request may have; at least 8 KiB.
    pub headers_bytes_max: u32,
    /// Requests at once on one HTTP/2 connection.
    pub streams_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            headers_within: Duration::from_secs(10),
            headers_bytes_max: 32 * 1024,
            streams_max: 100,
        }
    }
}

/// A gateway that listens.
pub struct Listener {
    socket: Socket,
    at: ListenAt,
    tls: Option<ServerTls>,
    limits: Limits,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

enum Stream {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Listener {
    /// Binds the address; connections wait until [`Listener::serve`].
    pub async fn bind(at: &ListenAt, tls: Option<ServerTls>, limits: Limits) -> Result<Self> {
        let unavailable = |cause: std::io::Error| {
            Error::new(ADDRESS_UNAVAILABLE, format!("{at} cannot be listened on: {cause}")).caused_by(cause)
        };
        let (socket, at) = match at {
            ListenAt::Tcp(address) => {
                let listener = TcpListener::bind(address).await.map_err(unavailable)?;
                let bound = listener.local_addr().map_err(unavailable)?;
                (Socket::Tcp(listener), ListenAt::Tcp(bound))
            }
            ListenAt::Unix(path) => {
                remove_abandoned(path).await;
                let listener = UnixListener::bind(path).map_err(unavailable)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(unavailable)?;
                (Socket::Unix(listener), at.clone())
            }
        };
        Ok(Self { socket, at, tls, limits })
    }

    /// Where it listens; the port is the one that was given.
    pub fn at(&self) -> &ListenAt {
        &self.at
    }

    /// Serves until `stop`, then lets what is under way end, for at most `drain_for`.
    pub async fn serve(self, gateway: Arc<Gateway>, stop: impl Future<Output = ()> + Send, drain_for: Duration) {
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(self.limits.connections_max));
        let router = router(gateway);
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = self.accept(&room) => accepted,
            };
            let Some((stream, place)) = accepted else { continue };
            let connection =
                Connection { router: router.clone(), limits: self.limits, place, watcher: graceful.watcher() };
            tokio::spawn(connection.serve(stream, self.tls.clone()));
        }
        let Self { socket, at, .. } = self;
        drop(socket);
        if let ListenAt::Unix(path) = at {
            let _ = std::fs::remove_file(path);
        }
        if tokio::time::timeout(drain_for, graceful.shutdown()).await.is_err() {
            tracing::warn!("the gateway's connections were still open when the time to drain was over");
        }
    }

    async fn accept(&self, room: &Arc<Semaphore>) -> Option<(Stream, Place)> {
        let place = Place(Arc::new(Arc::clone(room).acquire_owned().await.ok()?));
        let accepted = match &self.socket {
            Socket::Tcp(listener) => listener.accept().await.map(|(stream, from)| Stream::Tcp(stream, from)),
            Socket::Unix(listener) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        };
        match accepted {
            Ok(stream) => Some((stream, place)),
            Err(cause) => {
                // Out of descriptors, most likely: those in use must end first.
                tracing::warn!(cause = %cause, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                None
            }
        }
    }
}

/// A socket file that nobody listens on any more is in the way.
async fn remove_abandoned(path: &Path) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && UnixStream::connect(path).await.is_err() {
        let _ = std::fs::remove_file(path);
    }
}

fn router(gateway: Arc<Gateway>) -> Router {
    let handle = move |request: Request<Body>| {
        let gateway = Arc::clone(&gateway);
        async move { gateway.handle(request).await }
    };
    Router::new().fallback(handle).layer(catch_panics())
}

/// One client's connection.
struct Connection {
    router: Router,
    limits: Limits,
    place: Place,
    watcher: Watcher,
}

impl Connection {
    async fn serve(self, stream: Stream, tls: Option<ServerTls>) {
        let address = match &stream {
            Stream::Tcp(stream, from) => {
                // Answers are waited for.
                let _ = stream.set_nodelay(true);
                Some(from.ip())
            }
            Stream::Unix(_) => None,
        };
        let peer = |transport| Peer { address, transport };
        match (stream, tls) {
            (Stream::Tcp(stream, _), None) => self.speak(stream, peer(Transport::Plain), None).await,
            (Stream::Unix(stream), None) => self.speak(stream, peer(Transport::Plain), None).await,
            (Stream::Tcp(stream, _), Some(tls)) => self.shake_hands(stream, peer(Transport::Tls), &tls).await,
            (Stream::Unix(stream), Some(tls)) => self.shake_hands(stream, peer(Transport::Tls), &tls).await,
        }
    }

    async fn shake_hands<I>(self, stream: I, peer: Peer, tls: &ServerTls)
    where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        match tokio::time::timeout(self.limits.headers_within, tls.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => {
                let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).and_then(subject);
                self.speak(stream, peer, shown).await;
            }
            Ok(Err(cause)) => tracing::debug!(cause = %cause, "a handshake failed"),
            Err(_) => tracing::debug!("a handshake took too long"),
        }
    }

    async fn speak<I>(self, stream: I, peer: Peer, certificate: Option<ClientCertificate>)
    where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Self { router, limits, place, watcher } = self;
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            let extensions = request.extensions_mut();
            extensions.insert(peer);
            extensions.insert(place.clone());
            if let Some(certificate) = certificate.clone() {
                extensions.insert(certificate);
            }
            router.clone().oneshot(request)
        });
        let stream = TokioIo::new(Strict::new(FirstBytes::new(stream, limits.headers_within)));
        let connection = builder(limits).serve_connection_with_upgrades(stream, service).into_owned();
        // A client that hangs up or speaks nonsense ends its own connection only.
        if let Err(cause) = watcher.watch(connection).await {
            tracing::debug!(cause = %cause, "connection ended");
        }
    }
}

fn builder(limits: Limits) -> Builder<TokioExecutor> {
    // tidy: allow(the name is hyper's)
    let mut builder = Builder::new(TokioExecutor::new()); // tidy: allow(the name is hyper's)
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers_within)
        .max_buf_size(usize::try_from(limits.headers_bytes_max).unwrap_or(usize::MAX).max(8 * 1024));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits.headers_bytes_max)
        .max_concurrent_streams(limits.streams_max)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(limits.headers_within);
    builder
}
