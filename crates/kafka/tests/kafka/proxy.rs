//! Stands between a client and its broker, and cuts, or keeps what it should hand on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

/// What it does with what it is handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Hands it on.
    Pass = 0,
    /// Keeps what the broker says.
    KeepReplies = 1,
    /// Keeps what either says.
    KeepAll = 2,
}

/// Listening; gone with its runtime.
pub(crate) struct Proxy {
    listener: Option<TcpListener>,
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    mode: AtomicU8,
    connections: AtomicUsize,
    cut: broadcast::Sender<()>,
}

impl Proxy {
    /// Has a port, but hands nothing on yet.
    pub(crate) async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let shared = Shared { mode: AtomicU8::new(0), connections: AtomicUsize::new(0), cut: broadcast::channel(1).0 };
        Self { listener: Some(listener), port, shared: Arc::new(shared) }
    }

    /// Hands on to this port from now on.
    pub(crate) fn run(&mut self, to: u16) {
        let (listener, shared) = (self.listener.take().expect("it runs once"), Arc::clone(&self.shared));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(hand_on(Arc::clone(&shared), client, to));
            }
        });
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.shared.mode.store(mode as u8, Ordering::SeqCst);
    }

    /// Ends every connection, whatever is on its way.
    pub(crate) fn cut(&self) {
        // There may be none.
        let _ = self.shared.cut.send(());
    }

    /// Connections that were ever made.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

async fn hand_on(shared: Arc<Shared>, client: TcpStream, to: u16) {
    let mut cut = shared.cut.subscribe();
    let Ok(broker) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_broker, mut to_broker) = broker.into_split();
    let requests = copy(&shared, &mut from_client, &mut to_broker, Mode::KeepAll);
    let replies = copy(&shared, &mut from_broker, &mut to_client, Mode::KeepReplies);
    tokio::select! {
        () = requests => {}
        () = replies => {}
        _ = cut.recv() => {}
    }
}

/// Copies until one side ends; in this mode and the ones behind it what comes is kept.
async fn copy(
    shared: &Shared,
    from: &mut (impl tokio::io::AsyncRead + Unpin),
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
    kept_from: Mode,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let kept = shared.mode.load(Ordering::SeqCst) >= kept_from as u8;
        if !kept && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// A broker that clients reach only through a proxy.
pub(crate) async fn broker_behind_proxy() -> (crate::broker::Brokers, Proxy) {
    let mut proxy = Proxy::bind().await;
    let setup = crate::broker::Setup { told: Some(proxy.port), ..Default::default() };
    let broker = crate::broker::Brokers::one(&setup).await;
    proxy.run(broker.client_port());
    (broker, proxy)
}
