//! Requests with fresh keys at 64 connections: straight to a trivial upstream, through our gateway with the
//! embedded ledger, and through Restate with one durable step, by its Rust SDK and by its Node SDK. Then the same keys
//! again. All of them are processes of their own; the connections are in this one.

use std::process::ExitCode;
use std::time::Duration;

use onefold_bench::gateway::{Gateway, serve_if_asked};
use onefold_bench::load::{Keys, Round, Target, load};
use onefold_bench::restate::{Restate, Sdk};
use onefold_bench::upstream::{Upstream, answer_if_asked};
use onefold_bench::{Scale, last_line, median, point};

const CALLERS: usize = 64;
/// How long one side is called in one round.
const LASTS: Duration = Duration::from_secs(4);

fn main() -> ExitCode {
    if let Some(ended) = answer_if_asked().or_else(serve_if_asked) {
        return ended;
    }
    // One thread for all callers: the cores are for those who are measured.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    runtime.block_on(compare(Scale::from_args()));
    ExitCode::SUCCESS
}

/// One way to the upstream, and what its rounds showed.
struct Side {
    name: &'static str,
    target: Target,
    rates: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    again: Vec<f64>,
}

impl Side {
    fn new(name: &'static str, target: Target) -> Self {
        Self { name, target, rates: vec![], p50: vec![], p99: vec![], again: vec![] }
    }

    /// One round of fresh keys, and where there is a memory of keys, a shorter one of the same keys.
    async fn round(&mut self, lasts: Duration, remembers: bool) {
        let mut fresh = load(&self.target, CALLERS, lasts, Keys::Fresh).await;
        self.keep(&mut fresh);
        if remembers {
            let again = load(&self.target, CALLERS, lasts / 2, Keys::Again(fresh.keys)).await;
            self.again.push(again.rate());
        }
    }

    fn keep(&mut self, round: &mut Round) {
        let (rate, p50, p99) = (round.rate(), round.percentile(0.50), round.percentile(0.99));
        println!("  {:12} {rate:.0}/s, p50 {p50:.2} ms, p99 {p99:.2} ms ({} requests)", self.name, round.count());
        self.rates.push(rate);
        self.p50.push(p50);
        self.p99.push(p99);
    }

    fn rate(&self) -> f64 {
        median(self.rates.clone())
    }

    fn p50(&self) -> f64 {
        median(self.p50.clone())
    }

    fn p99(&self) -> f64 {
        median(self.p99.clone())
    }

    /// Requests with known keys a second.
    fn replays(&self) -> f64 {
        median(self.again.clone())
    }
}

async fn compare(scale: Scale) {
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let upstream = Upstream::start();
    let gateway = Gateway::start(folder.path(), &upstream.address);
    let rust = Restate::start(Sdk::Rust, folder.path(), &upstream.address).await;
    let node = Restate::start(Sdk::Node, folder.path(), &upstream.address).await;
    let straight = Target { address: upstream.address.clone(), path: "/pay" };
    let mut sides = [
        Side::new("straight", straight),
        Side::new("ours", gateway.target()),
        Side::new("restate-rust", rust.target()),
        Side::new("restate-node", node.target()),
    ];
    let lasts = LASTS / u32::try_from(scale.divide_by).expect("a small number");
    // A peer that compiles itself while it runs gets the time to do so.
    for side in &sides {
        load(&side.target, CALLERS, lasts / 2, Keys::Fresh).await;
    }
    for round in 0..scale.rounds {
        println!("round {}:", round + 1);
        for (place, side) in sides.iter_mut().enumerate() {
            // The upstream itself remembers no keys.
            side.round(lasts, place > 0).await;
        }
    }
    drop((gateway, rust, node));
    show(&sides);
}

fn show(sides: &[Side; 4]) {
    let [straight, ours, rust, node] = sides;
    for side in sides {
        println!("{:12} {:.0}/s, p50 {:.2} ms, p99 {:.2} ms", side.name, side.rate(), side.p50(), side.p99());
    }
    for side in [ours, rust, node] {
        let (p50, p99) = (side.p50() - straight.p50(), side.p99() - straight.p99());
        println!(
            "{:12} adds p50 {p50:.2} ms, p99 {p99:.2} ms to the upstream, replays {:.0}/s",
            side.name,
            side.replays()
        );
    }
    for peer in [rust, node] {
        // Below one is quicker.
        let (p50, replays) = (ours.p50() / peer.p50(), ours.replays() / peer.replays());
        println!("ours against {}: {p50:.2} times its p50, {replays:.2} times its replays", peer.name);
    }
    for side in sides {
        point("gateway", side.name, CALLERS, side.rate());
    }
    println!("with the Node SDK the ratio is {:.2} ({:.0}/s)", ours.rate() / node.rate(), node.rate());
    last_line("gateway", ours.rate(), rust.rate());
}
