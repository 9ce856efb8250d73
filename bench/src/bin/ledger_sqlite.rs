//! Claim and complete on the embedded store: us, one commit per step, and a peer, in one run.

use std::sync::Arc;

use onefold_bench::naive::{self, Naive};
use onefold_bench::ours::{Ours, callers};
use onefold_bench::peer::Peer;
use onefold_bench::{Scale, last_line, median, rate, rising_id, timed};

/// Callers, operations of ours, operations of the naive pattern.
const TABLE: [(usize, usize, usize); 3] = [(1, 1_000, 1_000), (64, 20_000, 1_500), (256, 40_000, 1_500)];
const PEER_OPERATIONS: usize = 320;
/// Turns that each round is cut into.
const SLICES: usize = 5;

#[tokio::main]
async fn main() {
    let scale = Scale::from_args();
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let ours = Arc::new(Ours::open(&folder.path().join("ours.db")).await);
    drop(Ours::open(&folder.path().join("naive.db")).await);
    let naive = Arc::new(Naive::open(&folder.path().join("naive.db")));
    let peer = Arc::new(Peer::open(&folder.path().join("peer.db")).await);
    let (mut our_rates, mut naive_rates) = ([vec![], vec![], vec![]], [vec![], vec![], vec![]]);
    let mut peer_rates = vec![];

    for round in 0..scale.rounds {
        for (row, (count, our_operations, naive_operations)) in TABLE.into_iter().enumerate() {
            let (mut our_seconds, mut naive_seconds) = (0.0, 0.0);
            let (our_slice, naive_slice) = (scale.of(our_operations / SLICES), scale.of(naive_operations / SLICES));
            // In small turns: what the disk does to one side it soon does to the other.
            for slice in 0..SLICES {
                let prefix = format!("r{round}-{count}-{slice}");
                our_seconds += our_slice as f64 / run_ours(&ours, &prefix, count, our_slice).await;
                naive_seconds += naive_slice as f64 / run_naive(&naive, &prefix, count, naive_slice);
            }
            our_rates[row].push((our_slice * SLICES) as f64 / our_seconds);
            naive_rates[row].push((naive_slice * SLICES) as f64 / naive_seconds);
            println!(
                "round {} · {count} callers: ours {:.0}/s, one commit per step {:.0}/s",
                round + 1,
                our_rates[row][round],
                naive_rates[row][round]
            );
        }
        peer_rates.push(run_peer(&peer, round, scale.of(PEER_OPERATIONS)).await);
        println!("round {} · 64 callers: agent-effects-sqlite {:.0}/s", round + 1, peer_rates[round]);
    }

    for (row, (count, _, _)) in TABLE.into_iter().enumerate() {
        let (ours, naive) = (median(our_rates[row].clone()), median(naive_rates[row].clone()));
        println!(
            "{count:>4} callers: {:.2} times one commit per step ({ours:.0}/s against {naive:.0}/s)",
            ours / naive
        );
    }
    let (ours, naive, peer) = (median(our_rates[1].clone()), median(naive_rates[1].clone()), median(peer_rates));
    println!("  64 callers: {:.1} times agent-effects-sqlite 0.2 ({ours:.0}/s against {peer:.0}/s)", ours / peer);
    last_line("ledger-sqlite", ours, naive);
}

async fn run_ours(ours: &Arc<Ours>, prefix: &str, count: usize, operations: usize) -> f64 {
    let (shared, prefix) = (Arc::clone(ours), prefix.to_owned());
    let work = move |number| {
        let (ours, id) = (Arc::clone(&shared), rising_id(&prefix, number));
        async move { ours.operation(&id).await }
    };
    rate(operations, timed(callers(count, operations, work)).await.1)
}

fn run_naive(naive: &Arc<Naive>, prefix: &str, count: usize, operations: usize) -> f64 {
    let began = std::time::Instant::now();
    naive::callers(naive, count, operations, |number| rising_id(prefix, number));
    rate(operations, began.elapsed())
}

async fn run_peer(peer: &Arc<Peer>, round: usize, operations: usize) -> f64 {
    let shared = Arc::clone(peer);
    let work = move |number| {
        let (peer, id) = (Arc::clone(&shared), rising_id(&format!("r{round}"), number));
        async move { peer.operation(&id).await }
    };
    rate(operations, timed(callers(64, operations, work)).await.1)
}
