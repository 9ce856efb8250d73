//! Duplicates answered a second against fresh operations, 64 callers.

use std::sync::Arc;

use onefold_bench::ours::{Ours, callers};
use onefold_bench::{Scale, last_line, median, rate, rising_id, timed};

const OPERATIONS: usize = 20_000;

#[tokio::main]
async fn main() {
    let scale = Scale::from_args();
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let ours = Arc::new(Ours::open(&folder.path().join("ours.db")).await);
    let operations = scale.of(OPERATIONS);
    let (mut fresh, mut replayed) = (vec![], vec![]);
    for round in 0..scale.rounds {
        let shared = Arc::clone(&ours);
        let first = move |number| {
            let (ours, id) = (Arc::clone(&shared), rising_id(&format!("r{round}"), number));
            async move { ours.operation(&id).await }
        };
        fresh.push(rate(operations, timed(callers(64, operations, first)).await.1));
        let shared = Arc::clone(&ours);
        let again = move |number| {
            let (ours, id) = (Arc::clone(&shared), rising_id(&format!("r{round}"), number));
            async move { ours.duplicate(&id).await }
        };
        replayed.push(rate(operations, timed(callers(64, operations, again)).await.1));
        println!("round {}: {:.0} duplicates/s, {:.0} fresh operations/s", round + 1, replayed[round], fresh[round]);
    }
    last_line("replay", median(replayed), median(fresh));
}
