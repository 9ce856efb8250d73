//! Claim and complete on PostgreSQL: us, and insert and update, with a timeline and without, on one server in one run.
//! The last line compares with the pattern that keeps no timeline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onefold::store::Postgres;
use onefold_bench::naive_postgres::{Naive, Story};
use onefold_bench::ours::{Ours, callers};
use onefold_bench::schemas::Schemas;
use onefold_bench::{Batches, Scale, last_line, median, rate, rising_id, timed};

/// Callers, operations of ours, operations of the naive pattern.
const TABLE: [(usize, usize, usize); 3] = [(1, 300, 300), (64, 12_000, 2_000), (256, 24_000, 2_000)];
/// Connections of the naive pattern: with 10 it is slower, with 64 no faster.
const NAIVE_CONNECTIONS: u32 = 32;
/// Turns that each round is cut into.
const SLICES: usize = 5;
const SCHEMAS: [&str; 3] = ["bench_ours", "bench_naive", "bench_untold"];

static RUN: AtomicU64 = AtomicU64::new(0);

/// Operations a second, round by round.
#[derive(Default, Clone)]
struct Rates {
    ours: Vec<f64>,
    naive: Vec<f64>,
    untold: Vec<f64>,
}

struct Sides {
    ours: Arc<Ours<Postgres>>,
    naive: Arc<Naive>,
    untold: Arc<Naive>,
    batches: Batches,
}

#[tokio::main]
async fn main() {
    let scale = Scale::from_args();
    let batches = Batches::install();
    let url = std::env::var("ONEFOLD_TEST_POSTGRES").expect("run `cargo xtask bench ledger-postgres`");
    let schemas = Schemas::fresh(&url, &SCHEMAS).await;
    let [ours, naive, untold] = SCHEMAS;
    drop(Ours::open_schema(&url, naive).await);
    drop(Ours::open_schema(&url, untold).await);
    let sides = Sides {
        ours: Arc::new(Ours::open_schema(&url, ours).await),
        naive: Arc::new(Naive::open(&url, naive, NAIVE_CONNECTIONS, Story::Told).await),
        untold: Arc::new(Naive::open(&url, untold, NAIVE_CONNECTIONS, Story::Untold).await),
        batches,
    };
    let mut rates: [Rates; 3] = Default::default();
    for round in 0..scale.rounds {
        for (row, rates) in TABLE.into_iter().zip(&mut rates) {
            measure(&sides, row, rates, scale).await;
            println!(
                "round {} · {} callers: ours {:.0}/s ({}), naive {:.0}/s, naive without a timeline {:.0}/s",
                round + 1,
                row.0,
                rates.ours[round],
                sides.batches.take(),
                rates.naive[round],
                rates.untold[round]
            );
        }
    }
    let medians = rates.map(|rates| [median(rates.ours), median(rates.naive), median(rates.untold)]);
    for ((count, _, _), [ours, naive, untold]) in TABLE.into_iter().zip(medians) {
        println!(
            "{count:>4} callers: {:.2} times insert and update with a timeline ({ours:.0}/s against {naive:.0}/s), \
             {:.2} times the same without one ({untold:.0}/s)",
            ours / naive,
            ours / untold
        );
    }
    schemas.drop().await;
    let [_, [ours, _, untold], _] = medians;
    last_line("ledger-postgres", ours, untold);
}

/// One round, in small turns: what the disk does to one side it soon does to the others.
async fn measure(
    sides: &Sides,
    (count, our_operations, operations): (usize, usize, usize),
    rates: &mut Rates,
    scale: Scale,
) {
    let (our_slice, slice) = (scale.of(our_operations / SLICES), scale.of(operations / SLICES));
    let mut seconds = [0.0; 3];
    sides.batches.take();
    for _ in 0..SLICES {
        seconds[0] += our_slice as f64 / run_ours(&sides.ours, count, our_slice).await;
        seconds[1] += slice as f64 / run_naive(&sides.naive, count, slice).await;
        seconds[2] += slice as f64 / run_naive(&sides.untold, count, slice).await;
    }
    rates.ours.push((our_slice * SLICES) as f64 / seconds[0]);
    rates.naive.push((slice * SLICES) as f64 / seconds[1]);
    rates.untold.push((slice * SLICES) as f64 / seconds[2]);
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
