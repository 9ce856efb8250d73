//! Claim and complete on PostgreSQL: us, and insert and update, with a timeline and without, on one server in one run.
//! The last line compares with the pattern that keeps no timeline.

use onefold_bench::naive_postgres::{Naive, Story};
use onefold_bench::ours::Ours;
use onefold_bench::schemas::{Schemas, show_version, url};
use onefold_bench::side::{self, Side};
use onefold_bench::tasks::Tasks;
use onefold_bench::turns::{Rates, Row};
use onefold_bench::{Batches, Scale, last_line, point, rising_id};

const NAME: &str = "ledger-postgres";
/// Operations of ours, of the naive pattern with a timeline, and of the same without one.
const TABLE: [Row<3>; 5] = [
    Row { callers: 1, operations: [300, 300, 300] },
    Row { callers: 4, operations: [1_200, 800, 800] },
    Row { callers: 16, operations: [4_000, 1_500, 1_500] },
    Row { callers: HEADLINE, operations: [12_000, 2_000, 2_000] },
    Row { callers: 256, operations: [24_000, 2_000, 2_000] },
];
/// The callers of the last line.
const HEADLINE: usize = 64;
/// Connections of the naive pattern: with 10 it is slower, with 64 no faster.
const NAIVE_CONNECTIONS: u32 = 32;
/// The sides, which are also the names of their schemas.
const SIDES: [&str; 3] = ["bench_ours", "bench_naive", "bench_untold"];

fn main() {
    match side::asked() {
        Some(args) => serve(&args),
        None => {
            let scale = Scale::from_args();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
            runtime.block_on(compare(scale));
        }
    }
}

/// Becomes one side, on a schema of its own.
fn serve(args: &[String]) {
    let [side] = args else { panic!("a side: {args:?}") };
    let url = url();
    let naive = |story| {
        let url = url.clone();
        async move {
            drop(Ours::open_schema(&url, side).await);
            Naive::open(&url, side, NAIVE_CONNECTIONS, story).await
        }
    };
    match side.as_str() {
        "bench_ours" => {
            let batches = Batches::install();
            side::serve(Tasks::open(Ours::open_schema(&url, side), rising_id, Ours::perform).noting(batches));
        }
        "bench_naive" => side::serve(Tasks::open(naive(Story::Told), rising_id, Naive::perform)),
        "bench_untold" => side::serve(Tasks::open(naive(Story::Untold), rising_id, Naive::perform)),
        other => panic!("there is no side {other}"),
    }
}

async fn compare(scale: Scale) {
    let url = url();
    show_version(&url).await;
    let schemas = Schemas::fresh(&url, &SIDES).await;
    let mut sides = SIDES.map(|side| Side::start(&[side]));
    let mut rates: [Rates<3>; TABLE.len()] = Default::default();
    for round in 1..=scale.rounds {
        for (row, rates) in TABLE.into_iter().zip(&mut rates) {
            let [ours, naive, untold] = rates.round(&mut sides, row, scale);
            println!(
                "round {round} · {} callers: ours {ours:.0}/s ({}), naive {naive:.0}/s, naive without a timeline {untold:.0}/s",
                row.callers,
                sides[0].note(),
            );
        }
    }
    drop(sides);
    schemas.drop().await;
    show(&rates.map(|rates| rates.medians()));
}

fn show(medians: &[[f64; 3]]) {
    let table = || TABLE.into_iter().zip(medians);
    for (Row { callers, .. }, [ours, naive, untold]) in table() {
        println!(
            "{callers:>4} callers: {:.2} times insert and update with a timeline ({ours:.0}/s against {naive:.0}/s), \
             {:.2} times the same without one ({untold:.0}/s)",
            ours / naive,
            ours / untold
        );
    }
    for (Row { callers, .. }, [ours, naive, untold]) in table() {
        point(NAME, "ours", callers, *ours);
        point(NAME, "one-commit-per-step", callers, *untold);
        point(NAME, "one-commit-per-step-with-timeline", callers, *naive);
    }
    let (_, &[ours, _, untold]) = table().find(|(row, _)| row.callers == HEADLINE).expect("a row of the table");
    last_line(NAME, ours, untold);
}
