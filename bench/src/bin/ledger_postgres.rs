//! Claim and complete on PostgreSQL: us, and a statement a step, on the same server in one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onefold::Postgres;
use onefold_bench::naive_postgres::Naive;
use onefold_bench::ours::{Ours, callers};
use onefold_bench::{Batches, Scale, last_line, median, rate, rising_id, timed};

/// Callers, operations of ours, operations of the naive pattern.
const TABLE: [(usize, usize, usize); 3] = [(1, 300, 300), (64, 12_000, 3_000), (256, 24_000, 3_000)];
/// Connections of the naive pattern at most: with more it was slower.
const NAIVE_CONNECTIONS: u32 = 32;
/// Turns that each round is cut into.
const SLICES: usize = 5;

static RUN: AtomicU64 = AtomicU64::new(0);

#[tokio::main]
async fn main() {
    let scale = Scale::from_args();
    let batches = Batches::install();
    let url = std::env::var("ONEFOLD_TEST_POSTGRES").expect("run `cargo xtask bench ledger-postgres`");
    let schemas = onefold_bench::schemas::Schemas::fresh(&url, &["bench_ours", "bench_naive"]).await;
    let ours = Arc::new(Ours::open_schema(&url, "bench_ours").await);
    drop(Ours::open_schema(&url, "bench_naive").await);
    let naive = Arc::new(Naive::open(&url, "bench_naive", NAIVE_CONNECTIONS).await);
    let (mut our_rates, mut naive_rates) = ([vec![], vec![], vec![]], [vec![], vec![], vec![]]);

    for round in 0..scale.rounds {
        for (row, (count, our_operations, naive_operations)) in TABLE.into_iter().enumerate() {
            let (mut our_seconds, mut naive_seconds) = (0.0, 0.0);
            let (our_slice, naive_slice) = (scale.of(our_operations / SLICES), scale.of(naive_operations / SLICES));
            batches.take();
            // In small turns: what the disk does to one side it soon does to the other.
            for _ in 0..SLICES {
                our_seconds += our_slice as f64 / run_ours(&ours, count, our_slice).await;
                naive_seconds += naive_slice as f64 / run_naive(&naive, count, naive_slice).await;
            }
            our_rates[row].push((our_slice * SLICES) as f64 / our_seconds);
            naive_rates[row].push((naive_slice * SLICES) as f64 / naive_seconds);
            println!(
                "round {} · {count} callers: ours {:.0}/s ({}), a statement a step {:.0}/s",
                round + 1,
                our_rates[row][round],
                batches.take(),
                naive_rates[row][round]
            );
        }
    }

    for (row, (count, _, _)) in TABLE.into_iter().enumerate() {
        let (ours, naive) = (median(our_rates[row].clone()), median(naive_rates[row].clone()));
        println!("{count:>4} callers: {:.2} times a statement a step ({ours:.0}/s against {naive:.0}/s)", ours / naive);
    }
    schemas.drop().await;
    last_line("ledger-postgres", median(our_rates[1].clone()), median(naive_rates[1].clone()));
}

async fn run_ours(ours: &Arc<Ours<Postgres>>, count: usize, operations: usize) -> f64 {
    let (shared, run) = (Arc::clone(ours), RUN.fetch_add(1, Ordering::Relaxed));
    let work = move |number| {
        let (ours, id) = (Arc::clone(&shared), rising_id(&format!("r{run:06}"), number));
        async move { ours.operation(&id).await }
    };
    rate(operations, timed(callers(count, operations, work)).await.1)
}

async fn run_naive(naive: &Arc<Naive>, count: usize, operations: usize) -> f64 {
    let (shared, run) = (Arc::clone(naive), RUN.fetch_add(1, Ordering::Relaxed));
    let work = move |number| {
        let (naive, id) = (Arc::clone(&shared), rising_id(&format!("r{run:06}"), number));
        async move { naive.operation(&id).await }
    };
    rate(operations, timed(callers(count, operations, work)).await.1)
}
