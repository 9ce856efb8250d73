//! Claim and complete over HTTP at 64 connections, against the library with 64 callers. Server and library have a
//! process each; the connections are in this one.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use onefold_bench::api::{Connection, Server, serve_if_asked};
use onefold_bench::machine::cpu_time;
use onefold_bench::ours::Ours;
use onefold_bench::side::{self, Side, Slice};
use onefold_bench::tasks::Tasks;
use onefold_bench::{Scale, last_line, median, rate, rising_id, timed};

const CALLERS: usize = 64;
const OPERATIONS: usize = 20_000;
/// Turns that each round is cut into.
const SLICES: usize = 5;

fn main() -> ExitCode {
    if let Some(ended) = serve_if_asked() {
        return ended;
    }
    if let Some(args) = side::asked() {
        let [file] = args.as_slice() else { panic!("the library's file: {args:?}") };
        side::serve(Tasks::open(Ours::open(Path::new(file)), rising_id, Ours::perform));
        return ExitCode::SUCCESS;
    }
    let scale = Scale::from_args();
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(compare(scale));
    ExitCode::SUCCESS
}

async fn compare(scale: Scale) {
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let file = folder.path().join("library.db");
    let mut library = Side::start(&[file.to_str().expect("a name in plain letters")]);
    let server = Server::start(&folder.path().join("api.db"));
    let mut connections = Vec::with_capacity(CALLERS);
    for _ in 0..CALLERS {
        connections.push(server.connect().await);
    }
    let (mut api_rates, mut library_rates) = (vec![], vec![]);
    let operations = scale.of(OPERATIONS / SLICES);
    for round in 0..scale.rounds {
        let (mut api, mut in_process) = (Turn::default(), Turn::default());
        let before = (server.cpu_time(), library.cpu_time(), cpu_time("self"));
        // In small turns: what the disk does to one side it soon does to the other.
        for turn in 0..SLICES {
            let slice = Slice { callers: CALLERS, operations, prefix: format!("r{round}-{turn}") };
            let (back, took) = timed(over_http(connections, &slice)).await;
            connections = back;
            api.add(operations, took);
            in_process.add(operations, library.run(&slice));
        }
        api.cpu = server.cpu_time().saturating_sub(before.0);
        in_process.cpu = library.cpu_time().saturating_sub(before.1);
        println!(
            "round {}: api {:.0}/s (CPU µs an operation: server {:.0}, clients {:.0}), library {:.0}/s ({:.0})",
            round + 1,
            api.rate(),
            api.each(api.cpu),
            api.each(cpu_time("self").saturating_sub(before.2)),
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
async fn over_http(connections: Vec<Connection>, slice: &Slice) -> Vec<Connection> {
    let clients = connections.into_iter().enumerate().map(|(client, mut connection)| {
        let Slice { callers, operations, prefix } = slice.clone();
        tokio::spawn(async move {
            for number in (client..operations).step_by(callers) {
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
