//! How the provider is called: one line asks, one line answers, a connection a call.

use std::net::SocketAddr;
use std::time::Duration;

use onefold_core::port::Clock as _;
use onefold_runtime::SystemClock;
use tokio::io::{self, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::plan::{CALL_TIMEOUT, Plan};
use crate::request::{Request, Side};

/// How long the provider's counts and lookups may take: they do not misbehave, the machine may.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes an answer may have: the counts of the largest run fit.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Where the provider is: one address that serves, one that refuses connections.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Addresses {
    /// Where it serves.
    #[arg(long)]
    pub(super) serves: SocketAddr,
    /// Where nobody listens.
    #[arg(long)]
    pub(super) refuses: SocketAddr,
}

/// Which try of which delivery this is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Try {
    pub(super) request: Request,
    pub(super) delivery: u32,
    pub(super) number: u32,
}

/// What is known after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallResult {
    Done,
    Rejected,
    /// No connection, so no byte was sent.
    Refused,
    /// Sending was no longer allowed.
    TooLate,
    /// Sent, and no answer.
    NoAnswer,
}

/// One worker's way to the provider.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) addresses: Addresses,
    pub(super) plan: Plan,
    pub(super) side: Side,
    pub(super) slot: usize,
}

impl Caller {
    /// Calls once; `may_send` is asked right before the first byte.
    pub(super) async fn call(&self, this: Try, may_send: impl FnOnce() -> bool) -> CallResult {
        let refused = self.plan.refuses(this.request, this.delivery, this.number);
        let address = if refused { self.addresses.refuses } else { self.addresses.serves };
        let Ok(Ok(stream)) = timeout(CALL_TIMEOUT, TcpStream::connect(address)).await else {
            // The queue counts these: nobody else sees them.
            println!("refused");
            return CallResult::Refused;
        };
        // Read before the question, so that the age which the provider sees counts from a moment
        // at which sending was still allowed, however long this process is stopped in between.
        let sent_at = monotonic_micros();
        if !may_send() {
            return CallResult::TooLate;
        }
        let line = format!("DO {} {} {} {sent_at}", self.side, self.slot, this.request);
        match timeout(CALL_TIMEOUT, exchange(stream, &line)).await {
            Ok(Ok(answer)) if answer == "OK" => CallResult::Done,
            Ok(Ok(answer)) if answer == "NO" => CallResult::Rejected,
            Ok(Ok(_) | Err(_)) | Err(_) => CallResult::NoAnswer,
        }
    }

    /// Whether the provider has acted for a request; none if it did not say.
    pub(super) async fn lookup(&self, request: Request) -> Option<bool> {
        let answer = ask(self.addresses.serves, &format!("ASK {} {request}", self.side)).await.ok()?;
        match answer.as_str() {
            "YES" => Some(true),
            "NONE" => Some(false),
            _ => None,
        }
    }
}

/// Asks the provider something that changes nothing.
pub(super) async fn ask(provider: SocketAddr, line: &str) -> io::Result<String> {
    let asking = async { exchange(TcpStream::connect(provider).await?, line).await };
    timeout(QUESTION_TIMEOUT, asking).await.map_err(io::Error::other)?
}

async fn exchange(mut stream: TcpStream, line: &str) -> io::Result<String> {
    stream.write_all(format!("{line}\n").as_bytes()).await?;
    let mut answer = String::new();
    BufReader::new(stream.take(ANSWER_BYTES_MAX)).read_line(&mut answer).await?;
    Ok(answer.trim_end().to_owned())
}

/// A clock that every process of a machine reads alike.
pub(super) fn monotonic_micros() -> u64 {
    u64::try_from(SystemClock.monotonic().as_micros()).unwrap_or(u64::MAX)
}
