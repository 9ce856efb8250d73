//! Stands between a publisher and its broker, and cuts, or keeps what it should hand on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

/// What it does with what it is handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyMode {
    /// Hands it on.
    Pass = 0,
    /// Keeps what the broker says.
    KeepReplies = 1,
    /// Keeps what either says.
    KeepAll = 2,
    /// Ends every connection, also new ones, as a machine without a broker does.
    Away = 3,
}

/// Listening on loopback; gone with its runtime.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    mode: AtomicU8,
    connections: AtomicUsize,
    cut: broadcast::Sender<()>,
}

impl Proxy {
    /// Hands on to this port.
    pub async fn to(broker: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let shared = Shared { mode: AtomicU8::new(0), connections: AtomicUsize::new(0), cut: broadcast::channel(1).0 };
        let proxy = Self { port, shared: Arc::new(shared) };
        let shared = Arc::clone(&proxy.shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                if shared.mode.load(Ordering::SeqCst) < ProxyMode::Away as u8 {
                    tokio::spawn(hand_on(Arc::clone(&shared), client, broker));
                }
            }
        });
        proxy
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on it does this.
    pub fn set(&self, mode: ProxyMode) {
        self.shared.mode.store(mode as u8, Ordering::SeqCst);
        if mode == ProxyMode::Away {
            self.cut();
        }
    }

    /// Ends every connection, whatever is on its way.
    pub fn cut(&self) {
        // There may be none.
        let _ = self.shared.cut.send(());
    }

    /// Connections that were ever made.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

async fn hand_on(shared: Arc<Shared>, client: TcpStream, to: u16) {
    let mut cut = shared.cut.subscribe();
    let Ok(broker) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_broker, mut to_broker) = broker.into_split();
    let requests = copy(&shared, &mut from_client, &mut to_broker, ProxyMode::KeepAll);
    let replies = copy(&shared, &mut from_broker, &mut to_client, ProxyMode::KeepReplies);
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
    kept_from: ProxyMode,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let kept = shared.mode.load(Ordering::SeqCst) >= kept_from as u8;
        if !kept && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
