//! A way to the server that loses what passes: connections cut before a request or before the answer to a commit,
//! connections that stay open and carry nothing, and a server that is replaced behind its address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering};

use onefold_testing::SeededRandom;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// How the end of an answer outside a transaction looks: whatever it answers is committed.
const READY: &[u8] = b"Z\0\0\0\x05I";
/// What the answer to a write contains; some of them are functions that are selected from.
const WRITTEN: [&[u8]; 4] = [b"COMMIT\0", b"INSERT 0 ", b"UPDATE ", b"SELECT "];

/// The port of an address.
pub(crate) fn port(url: &str) -> u16 {
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
    port.expect("the address names a port")
}

/// The way; gone when it is dropped.
pub(crate) struct Cutter {
    port: u16,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

struct Shared {
    /// The server's port.
    to: AtomicU16,
    random: SeededRandom,
    /// Of a hundred answers to writes, this many are lost.
    answers_lost: AtomicU64,
    /// Of a hundred requests, this many are lost.
    requests_lost: AtomicU64,
    lost: AtomicUsize,
    connections: AtomicU64,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Connections up to this number carry nothing any more.
    stalled: u64,
    /// Connections up to this number are closed.
    closed: u64,
}

impl Cutter {
    /// A way to the server on this port, on which nothing is lost yet.
    pub(crate) async fn to(port: u16, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let listening = listener.local_addr().expect("it has an address").port();
        let shared = Arc::new(Shared {
            to: AtomicU16::new(port),
            random: SeededRandom::new(seed),
            answers_lost: AtomicU64::new(0),
            requests_lost: AtomicU64::new(0),
            lost: AtomicUsize::new(0),
            connections: AtomicU64::new(0),
            state: watch::Sender::new(State::default()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Self { port: listening, shared, accepting }
    }

    /// A way to the server at this address.
    pub(crate) async fn before(url: &str, seed: u64) -> Self {
        Self::to(port(url), seed).await
    }

    /// An address behind which the same database is reached through here.
    pub(crate) fn url(&self, url: &str) -> String {
        let (before, rest) = url.rsplit_once(':').expect("the address names a port");
        let database = rest.split_once('/').map_or("", |(_, database)| database);
        format!("{before}:{}/{database}", self.port)
    }

    /// From now on, of a hundred answers to writes and of a hundred requests this many are lost with their connection.
    pub(crate) fn lose(&self, answers: u64, requests: u64) {
        self.shared.answers_lost.store(answers, Ordering::SeqCst);
        self.shared.requests_lost.store(requests, Ordering::SeqCst);
    }

    /// How often something was lost.
    pub(crate) fn lost(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }

    /// The connections that are open stay so, and carry nothing any more.
    pub(crate) fn stall(&self) {
        let upto = self.shared.connections.load(Ordering::SeqCst);
        self.shared.state.send_modify(|state| state.stalled = upto);
    }

    /// And those that come do the same, until [`Cutter::resume`].
    pub(crate) fn stall_all(&self) {
        self.shared.state.send_modify(|state| state.stalled = u64::MAX);
    }

    /// Everything that waits is carried on.
    pub(crate) fn resume(&self) {
        self.shared.state.send_modify(|state| state.stalled = 0);
    }

    /// Closes the connections that are open.
    pub(crate) fn close(&self) {
        let upto = self.shared.connections.load(Ordering::SeqCst);
        self.shared.state.send_modify(|state| state.closed = upto);
    }

    /// Connections that come go to the server on this port.
    pub(crate) fn point_to(&self, port: u16) {
        self.shared.to.store(port, Ordering::SeqCst);
        self.close();
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, they end with it.
    let mut carrying = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let number = shared.connections.fetch_add(1, Ordering::SeqCst) + 1;
        let shared = Arc::clone(&shared);
        carrying.spawn(async move { carry(client, number, &shared).await });
        while carrying.try_join_next().is_some() {}
    }
}

/// Carries one connection until either side ends it, or it is to be closed.
async fn carry(client: TcpStream, number: u64, shared: &Shared) {
    let mut state = shared.state.subscribe();
    let mut closing = shared.state.subscribe();
    let _ = state.wait_for(|state| number > state.stalled).await;
    let Ok(server) = TcpStream::connect(("127.0.0.1", shared.to.load(Ordering::SeqCst))).await else { return };
    let (Ok(()), Ok(())) = (client.set_nodelay(true), server.set_nodelay(true)) else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = requests(from_client, to_server, number, shared) => {}
        () = answers(from_server, to_client, number, shared) => {}
        _ = closing.wait_for(|state| number <= state.closed) => {}
    }
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, number: u64, shared: &Shared) {
    let mut state = shared.state.subscribe();
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if state.wait_for(|state| number > state.stalled).await.is_err() || shared.loses(&shared.requests_lost) {
            return;
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, number: u64, shared: &Shared) {
    let mut state = shared.state.subscribe();
    let mut bytes = vec![0; 64 * 1024];
    let mut written = false;
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let part = &bytes[..read];
        written |= WRITTEN.iter().any(|mark| part.windows(mark.len()).any(|window| window == *mark));
        if part.ends_with(READY) {
            // It is committed, and nobody hears of it.
            if written && shared.loses(&shared.answers_lost) {
                return;
            }
            written = false;
        }
        if state.wait_for(|state| number > state.stalled).await.is_err() || to.write_all(part).await.is_err() {
            return;
        }
    }
}

impl Shared {
    fn loses(&self, percent: &AtomicU64) -> bool {
        let percent = percent.load(Ordering::SeqCst);
        let loses = percent > 0 && self.random.draw() % 100 < percent;
        self.lost.fetch_add(usize::from(loses), Ordering::SeqCst);
        loses
    }
}
