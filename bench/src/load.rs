//! Connections that send one request after the other, light enough not to be what is measured.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Where requests go.
#[derive(Debug, Clone)]
pub struct Target {
    /// Host and port.
    pub address: String,
    /// The path of every request.
    pub path: &'static str,
}

/// What the callers of one round saw.
#[derive(Debug, Default)]
pub struct Round {
    micros: Vec<u32>,
    took: Duration,
    /// The keys that were answered, for those who want to send them again.
    pub keys: Vec<String>,
}

impl Round {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.took.as_secs_f64()
    }

    /// How many were answered.
    pub fn count(&self) -> usize {
        self.micros.len()
    }

    /// Milliseconds that this share of the requests took at most.
    pub fn percentile(&mut self, share: f64) -> f64 {
        self.micros.sort_unstable();
        let place = (self.micros.len() as f64 * share) as usize;
        self.micros.get(place.min(self.micros.len().saturating_sub(1))).map_or(0.0, |micros| f64::from(*micros) / 1e3)
    }

    fn add(&mut self, other: Self) {
        self.micros.extend(other.micros);
        self.keys.extend(other.keys);
    }
}

/// What callers send as keys.
#[derive(Debug, Clone)]
pub enum Keys {
    /// A key that nobody had.
    Fresh,
    /// These, each caller its share, round and round.
    Again(Vec<String>),
}

/// So many connections, each a caller that waits for its answer before it sends again.
pub async fn load(target: &Target, callers: usize, lasts: Duration, keys: Keys) -> Round {
    let mut connections = Vec::with_capacity(callers);
    for _ in 0..callers {
        connections.push(Connection::open(target).await);
    }
    let began = Instant::now();
    let calling: Vec<_> = connections
        .into_iter()
        .enumerate()
        .map(|(caller, connection)| {
            let keys = match &keys {
                Keys::Fresh => vec![],
                Keys::Again(keys) => keys.iter().skip(caller).step_by(callers).cloned().collect(),
            };
            tokio::spawn(call(connection, began + lasts, keys))
        })
        .collect();
    let mut round = Round::default();
    for caller in calling {
        round.add(caller.await.expect("a caller ended"));
    }
    round.took = began.elapsed();
    round
}

async fn call(mut connection: Connection, until: Instant, again: Vec<String>) -> Round {
    let mut round = Round::default();
    let mut next = 0;
    while Instant::now() < until {
        let key = if again.is_empty() { uuid::Uuid::new_v4().to_string() } else { again[next % again.len()].clone() };
        next += 1;
        let sent = Instant::now();
        connection.post(&key).await;
        round.micros.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        if again.is_empty() {
            round.keys.push(key);
        }
    }
    round
}

struct Connection {
    stream: TcpStream,
    target: Target,
    request: String,
    answer: Vec<u8>,
}

impl Connection {
    async fn open(target: &Target) -> Self {
        let stream = TcpStream::connect(&target.address).await.expect("somebody listens");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, target: target.clone(), request: String::new(), answer: vec![0; 16 * 1024] }
    }

    /// One request with this key; anything but a success ends the benchmark.
    async fn post(&mut self, key: &str) {
        let body = format!("{{\"order\":\"{key}\",\"amount\":4200}}");
        let Target { address, path } = &self.target;
        self.request.clear();
        let _ = write!(
            self.request,
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nidempotency-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(self.request.as_bytes()).await.expect("sent");
        let mut had = 0;
        loop {
            let more = self.stream.read(&mut self.answer[had..]).await.expect("answered");
            assert!(more > 0, "{path}: the server hung up");
            had += more;
            if let Some(text) = whole(&self.answer[..had]) {
                assert!(text.starts_with("HTTP/1.1 200"), "{path}: {text}");
                return;
            }
        }
    }
}

/// The answer, once all of it is there.
fn whole(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("an answer has a length");
    (body.len() >= length.parse().expect("a number")).then_some(text)
}
