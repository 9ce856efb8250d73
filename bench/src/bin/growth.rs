//! The cost of a claim with a thousand and with a million rows, rising and random ids.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onefold_bench::ours::{Ours, callers};
use onefold_bench::{Scale, median, random_id, rate, rising_id, timed};

const CALLERS: usize = 64;
const MEASURED: usize = 10_000;

#[tokio::main]
async fn main() {
    let scale = Scale::from_args();
    let args: Vec<String> = std::env::args().collect();
    match args.iter().position(|arg| arg == "--store").and_then(|at| args.get(at + 1)).map(String::as_str) {
        None | Some("sqlite") => on_sqlite(scale).await,
        Some("postgres") => onefold_bench::growth_postgres::run(scale).await,
        Some(other) => panic!("there is no store {other}"),
    }
}

async fn on_sqlite(scale: Scale) {
    let large = 1_000_000 / scale.divide_by.pow(2);
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let rising = measure(folder.path(), "rising", rising_id, large, scale).await;
    let random = measure(folder.path(), "random", random_id, large, scale).await;
    println!(
        "random ids: {:.2} times the cost with {large} rows ({:.0}/s against {:.0}/s)",
        random.0 / random.1,
        random.1,
        random.0
    );
    // Ours is the large table, the peer the small one; the cost rises by the inverse of the ratio.
    println!("rising ids: {:.2} times the cost with {large} rows", rising.0 / rising.1);
    println!("growth ratio={:.2} ours={:.0}/s peer={:.0}/s", rising.0 / rising.1, rising.1, rising.0);
}

/// Rates with few and with many rows, medians of interleaved rounds.
async fn measure(folder: &Path, name: &str, id: fn(&str, usize) -> String, large: usize, scale: Scale) -> (f64, f64) {
    let small_file = Arc::new(Ours::open(&folder.join(format!("{name}-small.db"))).await);
    let large_file = Arc::new(Ours::open(&folder.join(format!("{name}-large.db"))).await);
    run(&small_file, "a", id, 1_000).await;
    let filled = run(&large_file, "a", id, large).await;
    println!("{name}: filled {large} rows at {filled:.0}/s");
    let (mut few, mut many) = (vec![], vec![]);
    for round in 0..scale.rounds {
        let prefix = format!("b{round}");
        many.push(run(&large_file, &prefix, id, scale.of(MEASURED)).await);
        // A fresh small file each round, so that it stays small.
        let fresh = Arc::new(Ours::open(&folder.join(format!("{name}-small-{round}.db"))).await);
        run(&fresh, "a", id, 1_000).await;
        few.push(run(&fresh, &prefix, id, scale.of(MEASURED)).await);
        println!("{name} · round {}: {:.0}/s with few rows, {:.0}/s with many", round + 1, few[round], many[round]);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (median(few), median(many))
}

async fn run(ours: &Arc<Ours>, prefix: &str, id: fn(&str, usize) -> String, operations: usize) -> f64 {
    let (shared, prefix) = (Arc::clone(ours), prefix.to_owned());
    let work = move |number| {
        let (ours, id) = (Arc::clone(&shared), id(&prefix, number));
        async move { ours.operation(&id).await }
    };
    rate(operations, timed(callers(CALLERS, operations, work)).await.1)
}
