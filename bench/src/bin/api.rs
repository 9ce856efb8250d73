//! Claim and complete over HTTP at 64 connections, against the library in process with 64 callers.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use onefold_bench::api::{Connection, Server, cpu_time, serve_if_asked};
use onefold_bench::ours::{Ours, callers};
use onefold_bench::{Scale, last_line, median, rate, rising_id, timed};

const CALLERS: usize = 64;
const OPERATIONS: usize = 20_000;
/// Turns that each round is cut into.
const SLICES: usize = 5;

fn main() -> ExitCode {
    if let Some(ended) = serve_if_asked() {
        return ended;
    }
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(compare(Scale::from_args()));
    ExitCode::SUCCESS
}

async fn compare(scale: Scale) {
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let library = Arc::new(Ours::open(&folder.path().join("library.db")).await);
    let server = Server::start(&folder.path().join("api.db"));
    let mut connections = Vec::with_capacity(CALLERS);
    for _ in 0..CALLERS {
        connections.push(server.connect().await);
    }
    let (mut api_rates, mut library_rates) = (vec![], vec![]);
    let slice = scale.of(OPERATIONS / SLICES);
    for round in 0..scale.rounds {
        let (mut api, mut in_process) = (Turn::default(), Turn::default());
        let (mut api_client, before) = (Duration::ZERO, server.cpu_time());
        // In small turns: what the disk does to one side it soon does to the other.
        for turn in 0..SLICES {
            let prefix = format!("r{round}-{turn}");
            let mine = cpu_time("self");
            let (back, took) = timed(over_http(connections, &prefix, slice)).await;
            connections = back;
            api.add(slice, took);
            api_client += cpu_time("self").saturating_sub(mine);
            let mine = cpu_time("self");
            in_process.add(slice, timed(through_library(&library, &prefix, slice)).await.1);
            in_process.cpu += cpu_time("self").saturating_sub(mine);
        }
        api.cpu = server.cpu_time().saturating_sub(before);
        println!(
            "round {}: api {:.0}/s (CPU µs an operation: server {:.0}, clients {:.0}), library {:.0}/s ({:.0})",
            round + 1,
            api.rate(),
            api.each(api.cpu),
            api.each(api_client),
            in_process.rate(),
            in_process.each(in_process.cpu),
        );
        api_rates.push(api.rate());
        library_rates.push(in_process.rate());
    }
    last_line("api", median(api_rates), median(library_rates));
}

/// What one side did in one round.
#[derive(Default)]
struct Turn {
    operations: usize,
    took: Duration,
    cpu: Duration,
}

impl Turn {
    fn add(&mut self, operations: usize, took: Duration) {
        self.operations += operations;
        self.took += took;
    }

    fn rate(&self) -> f64 {
        rate(self.operations, self.took)
    }

    /// Microseconds an operation.
    fn each(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / self.operations as f64
    }
}

/// Each connection is a client: it claims, completes, and takes the next.
async fn over_http(connections: Vec<Connection>, prefix: &str, operations: usize) -> Vec<Connection> {
    let clients = connections.into_iter().enumerate().map(|(client, mut connection)| {
        let prefix = prefix.to_owned();
        tokio::spawn(async move {
            for number in (client..operations).step_by(CALLERS) {
                connection.operation(&rising_id(&prefix, number)).await;
            }
            connection
        })
    });
    let mut back = Vec::with_capacity(CALLERS);
    for client in clients.collect::<Vec<_>>() {
        back.push(client.await.expect("a client ended"));
    }
    back
}

async fn through_library(ours: &Arc<Ours>, prefix: &str, operations: usize) {
    let (shared, prefix) = (Arc::clone(ours), prefix.to_owned());
    let work = move |number| {
        let (ours, id) = (Arc::clone(&shared), rising_id(&prefix, number));
        async move { ours.operation(&id).await }
    };
    callers(CALLERS, operations, work).await;
}
