//! Connections within limits: TCP or a Unix socket, TLS, and a drain before the end.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use onefold_config::ConnectionLimits;
use onefold_core::error::ADDRESS_UNAVAILABLE;
use onefold_core::{Error, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt as _;

use super::connection::{self, Drain, DrainSignal};
use super::head_check::HeadCheck;
use super::peer::{ClientCertificate, Peer, Transport};
use super::tls::{ServerTls, subject};

/// Where a server listens.
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

/// A bound address whose connections are served within limits.
pub struct Listener {
    socket: Socket,
    at: ListenAt,
    tls: Option<ServerTls>,
    limits: ConnectionLimits,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

enum Stream {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

/// Why an address cannot be listened on, and what to do about that reason; `flag` sets the address.
pub fn cannot_listen(at: &dyn std::fmt::Display, flag: &str, cause: std::io::Error) -> Error {
    let reasons = [
        (ErrorKind::AddrInUse, "stop the program that listens there, or choose another address"),
        (ErrorKind::PermissionDenied, "this user may not use it: choose a port above 1023 or another path"),
        (
            ErrorKind::AddrNotAvailable,
            "this machine does not have that address: choose one of its own, such as 127.0.0.1,",
        ),
        (ErrorKind::NotFound, "make its folder first, or choose another path"),
    ];
    let known = reasons.into_iter().find(|(kind, _)| *kind == cause.kind());
    let hint = format!("{} with {flag}", known.map_or("choose another address", |(_, next)| next));
    Error::new(ADDRESS_UNAVAILABLE, format!("{at} cannot be listened on: {cause}")).hint(hint).caused_by(cause)
}

impl Listener {
    /// Binds the address; connections wait until [`Listener::serve`].
    ///
    /// `flag` sets the address; an error names it.
    pub async fn bind(at: &ListenAt, flag: &str, tls: Option<ServerTls>, limits: ConnectionLimits) -> Result<Self> {
        let unavailable = |cause: std::io::Error| cannot_listen(at, flag, cause);
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

    /// Serves until `stop`, then lets what is in flight end, for at most `drain_for`.
    pub async fn serve(self, router: Router, stop: impl Future<Output = ()> + Send, drain_for: Duration) {
        let drain = Drain::default();
        let permits = Arc::new(Semaphore::new(self.limits.connections_max));
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = self.accept(&permits) => accepted,
            };
            let Some((stream, permit)) = accepted else { continue };
            let connection = Connection { router: router.clone(), limits: self.limits, permit, drain: drain.signal() };
            tokio::spawn(connection.serve(stream, self.tls.clone()));
        }
        let Self { socket, at, .. } = self;
        drop(socket);
        let at_text = at.to_string();
        if let ListenAt::Unix(path) = at {
            let _ = std::fs::remove_file(path);
        }
        if tokio::time::timeout(drain_for, drain.finish()).await.is_err() {
            tracing::warn!(at = %at_text, "connections were still open when the time to drain was over");
        }
    }

    async fn accept(&self, permits: &Arc<Semaphore>) -> Option<(Stream, ConnectionPermit)> {
        let permit = ConnectionPermit(Arc::new(Arc::clone(permits).acquire_owned().await.ok()?));
        let accepted = match &self.socket {
            Socket::Tcp(listener) => listener.accept().await.map(|(stream, from)| Stream::Tcp(stream, from)),
            Socket::Unix(listener) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        };
        match accepted {
            Ok(stream) => Some((stream, permit)),
            Err(cause) => {
                // Out of descriptors, most likely: those in use must end first.
                tracing::warn!(cause = %cause, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                None
            }
        }
    }
}

/// A socket file without a listener is in the way.
async fn remove_abandoned(path: &Path) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && UnixStream::connect(path).await.is_err() {
        let _ = std::fs::remove_file(path);
    }
}

/// A connection's permit among those that may be open; kept for as long as anything uses the connection. In every
/// request's extensions.
#[derive(Clone)]
pub struct ConnectionPermit(#[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>);

/// One client's connection.
struct Connection {
    router: Router,
    limits: ConnectionLimits,
    permit: ConnectionPermit,
    drain: DrainSignal,
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
        let Self { router, limits, permit, drain } = self;
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            let extensions = request.extensions_mut();
            extensions.insert(peer);
            extensions.insert(permit.clone());
            if let Some(certificate) = certificate.clone() {
                extensions.insert(certificate);
            }
            router.clone().oneshot(request)
        });
        connection::serve(HeadCheck::new(stream), service, limits, drain).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_not_to_listen_has_its_own_next_step() {
        let rows = [
            (ErrorKind::AddrInUse, "stop the program"),
            (ErrorKind::PermissionDenied, "above 1023"),
            (ErrorKind::AddrNotAvailable, "does not have that address"),
            (ErrorKind::NotFound, "make its folder"),
            (ErrorKind::InvalidInput, "choose another address with --listen"),
        ];
        for (kind, next) in rows {
            let error = cannot_listen(&"127.0.0.1:80", "--listen", kind.into());
            assert!(error.next_step().contains(next), "{kind}: {error}");
            assert_eq!(error.next_step().contains("stop the program"), kind == ErrorKind::AddrInUse);
        }
    }
}
