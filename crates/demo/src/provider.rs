//! The provider: acts, misbehaves by plan, and counts what really happened, in a process of its own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onefold_core::error::UNEXPECTED;
use onefold_core::{Error, Result};
use serde::{Deserialize, Serialize};
use tokio::io::{self, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::input;
use crate::plan::{AGE_MAX, CALL_TIMEOUT, Fault, Plan, SLOW_FOR};
use crate::request::{Kind, Request, Side};
use crate::wire::monotonic_micros;

/// Bytes a request may have.
const LINE_BYTES_MAX: u64 = 256;

/// What the provider is told.
#[derive(Debug, clap::Args)]
pub struct ProviderArgs {
    #[arg(long)]
    pub(super) seed: u64,
}

/// What really happened on one side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Truth {
    /// Calls that arrived.
    pub(super) calls: u64,
    /// Calls that came too late to be acted on.
    pub(super) too_late: u64,
    /// How often it acted for each request, by number.
    pub(super) effects: HashMap<u32, u32>,
}

impl Truth {
    pub(super) fn effects_in_all(&self) -> u64 {
        self.effects.values().copied().map(u64::from).sum()
    }

    /// Effects beyond the first of each request.
    pub(super) fn duplicates(&self) -> u64 {
        self.effects.values().map(|count| u64::from(count.saturating_sub(1))).sum()
    }
}

/// The live figures of one side.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) effects: u64,
    pub(super) duplicates: u64,
}

#[derive(Default)]
struct SideRecord {
    truth: Truth,
    calls: HashMap<Request, u32>,
    lookups: HashMap<Request, u32>,
}

struct Provider {
    plan: Plan,
    records: [Mutex<SideRecord>; 3],
}

/// Runs until its standard input closes.
pub async fn provider(args: ProviderArgs) -> Result<std::process::ExitCode> {
    let failed = |cause: io::Error| Error::new(UNEXPECTED, format!("the provider cannot listen: {cause}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
    let (_bound, refuses) = refusing_address().map_err(failed)?;
    println!("LISTENING {} {refuses}", listener.local_addr().map_err(failed)?);
    let provider = Arc::new(Provider { plan: Plan::new(args.seed), records: Default::default() });
    let mut input = input::lines();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let provider = Arc::clone(&provider);
                    // A call that cannot be read or answered is a lost one; its caller deals with it.
                    tokio::spawn(async move { provider.serve(stream).await });
                }
            }
            line = input.recv() => if line.is_none() {
                return Ok(std::process::ExitCode::SUCCESS);
            }
        }
    }
}

/// A port that is taken but not listened on: the system refuses every connection to it.
fn refusing_address() -> io::Result<(TcpSocket, SocketAddr)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

impl Provider {
    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut line = String::new();
        BufReader::new((&mut stream).take(LINE_BYTES_MAX)).read_line(&mut line).await?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match *words.as_slice() {
            ["DO", side, slot, id, sent_at] => match (Side::parse(side), Request::parse(id), sent_at.parse()) {
                (Some(side), Some(request), Ok(sent_at)) => {
                    return self.take(&mut stream, side, slot, request, sent_at).await;
                }
                _ => None,
            },
            ["ASK", side, id] => match (Side::parse(side), Request::parse(id)) {
                (Some(side), Some(request)) => self.look_up(side, request),
                _ => None,
            },
            ["FIGURES"] => serde_json::to_string(&Side::ALL.map(|side| self.figures(side))).ok(),
            ["TRUTH", side] => Side::parse(side).and_then(|side| self.with(side, |record| truth(record))),
            _ => None,
        };
        let Some(answer) = answer else { return Ok(()) };
        say(&mut stream, &answer).await
    }

    /// One call to act: counted, worked on, acted on, and answered or not, by plan.
    async fn take(
        &self,
        stream: &mut TcpStream,
        side: Side,
        slot: &str,
        request: Request,
        sent_at: u64,
    ) -> io::Result<()> {
        let call = self.with(side, |record| {
            record.truth.calls += 1;
            let call = record.calls.entry(request).or_default();
            *call += 1;
            *call
        });
        let fault = self.plan.fault(request, call);
        let worked = self.plan.works_for(request, call);
        tokio::time::sleep(if fault == Fault::ActsLate { SLOW_FOR } else { worked }).await;
        if self.plan.rejects(request) {
            return say(stream, "NO").await;
        }
        if !self.act(side, request, sent_at) {
            return Ok(());
        }
        match fault {
            Fault::None | Fault::ActsLate => say(stream, "OK").await,
            Fault::AnswerLost => Ok(()),
            Fault::AnswerSlow => {
                tokio::time::sleep(SLOW_FOR).await;
                say(stream, "OK").await
            }
            Fault::WorkerKilled => {
                println!("KILL {side} {slot}");
                // The answer is held back while the kill is on its way.
                tokio::time::sleep(2 * CALL_TIMEOUT).await;
                Ok(())
            }
        }
    }

    /// Acts, unless the request is too old; a key that it has acted for is not acted for again.
    ///
    /// Age and act are one step, as are a lookup's look and its answer: a lookup that says "none"
    /// after the last moment at which a request could be acted on stays true.
    fn act(&self, side: Side, request: Request, sent_at: u64) -> bool {
        self.with(side, |record| {
            let age = Duration::from_micros(monotonic_micros().saturating_sub(sent_at));
            if age > AGE_MAX {
                record.truth.too_late += 1;
                return false;
            }
            let effects = record.truth.effects.entry(request.number()).or_default();
            if *effects == 0 || request.kind() != Kind::SameKey {
                *effects += 1;
            }
            true
        })
    }

    /// Whether it has acted for a request; none when the answer is lost. Only one kind offers this.
    fn look_up(&self, side: Side, request: Request) -> Option<String> {
        if request.kind() != Kind::Ask {
            return None;
        }
        self.with(side, |record| {
            let lookup = record.lookups.entry(request).or_default();
            *lookup += 1;
            let acted = record.truth.effects.contains_key(&request.number());
            (!self.plan.loses_lookup(request, *lookup)).then(|| if acted { "YES" } else { "NONE" }.to_owned())
        })
    }

    fn figures(&self, side: Side) -> Figures {
        self.with(side, |record| Figures {
            effects: record.truth.effects_in_all(),
            duplicates: record.truth.duplicates(),
        })
    }

    fn with<T>(&self, side: Side, look: impl FnOnce(&mut SideRecord) -> T) -> T {
        look(&mut self.records[side.index()].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn truth(record: &SideRecord) -> Option<String> {
    serde_json::to_string(&record.truth).ok()
}

async fn say(stream: &mut TcpStream, answer: &str) -> io::Result<()> {
    stream.write_all(format!("{answer}\n").as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_kind(kind: Kind) -> Request {
        Request::all(3).find(|request| request.kind() == kind).unwrap()
    }

    fn provider() -> Provider {
        Provider { plan: Plan::new(1), records: Default::default() }
    }

    #[test]
    fn only_a_key_that_the_provider_remembers_keeps_a_second_effect_away() {
        let provider = provider();
        for (kind, effects) in [(Kind::SameKey, 1), (Kind::Ask, 2), (Kind::Escalate, 2)] {
            let request = of_kind(kind);
            assert!(provider.act(Side::Table, request, monotonic_micros()));
            assert!(provider.act(Side::Table, request, monotonic_micros()));
            provider
                .with(Side::Table, |record| assert_eq!(record.truth.effects[&request.number()], effects, "{kind:?}"));
        }
        assert_eq!(provider.with(Side::Table, |record| record.truth.duplicates()), 2);
        assert_eq!(
            provider.with(Side::Naive, |record| record.truth.effects_in_all()),
            0,
            "each side has a record of its own"
        );
    }

    #[test]
    fn a_request_that_was_sent_too_long_ago_is_not_acted_on() {
        let provider = provider();
        let old = monotonic_micros() - u64::try_from(AGE_MAX.as_micros()).unwrap() - 1_000;
        assert!(!provider.act(Side::Onefold, of_kind(Kind::Ask), old));
        assert_eq!(provider.with(Side::Onefold, |record| record.truth.effects_in_all()), 0);
    }

    #[test]
    fn only_the_kind_that_asks_can_ask() {
        let provider = provider();
        assert_eq!(provider.look_up(Side::Onefold, of_kind(Kind::Escalate)), None);
        let asked: Vec<_> = (0..40).filter_map(|_| provider.look_up(Side::Onefold, of_kind(Kind::Ask))).collect();
        assert!(asked.len() > 20 && asked.iter().all(|answer| answer == "NONE"));
    }
}
