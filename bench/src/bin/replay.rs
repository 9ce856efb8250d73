//! Duplicates answered a second against fresh operations, 64 callers, each on a ledger of its own.

use std::path::Path;
use std::time::Duration;

use onefold_bench::ours::Ours;
use onefold_bench::side::{self, Side, Slice, Workload};
use onefold_bench::tasks::Tasks;
use onefold_bench::turns::{Rates, Row};
use onefold_bench::{Scale, last_line, rising_id};

const ROW: Row<2> = Row { callers: 64, operations: [20_000, 20_000] };

fn main() {
    match side::asked() {
        Some(args) => serve(&args),
        None => compare(Scale::from_args()),
    }
}

fn serve(args: &[String]) {
    let [side, file] = args else { panic!("a side and its file: {args:?}") };
    let fresh = Tasks::open(Ours::open(Path::new(file)), rising_id, Ours::perform);
    match side.as_str() {
        "fresh" => side::serve(fresh),
        "replayed" => side::serve(Replayed(fresh)),
        other => panic!("there is no side {other}"),
    }
}

/// Performs operations first, which is not measured, and then asks for each again.
struct Replayed<T>(T);

impl<F, Fut> Workload for Replayed<Tasks<Ours, F>>
where
    F: Fn(std::sync::Arc<Ours>, String) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn run(&mut self, slice: &Slice) -> Duration {
        self.0.run(slice);
        self.0.run_with(slice, Ours::ask_again)
    }
}

fn compare(scale: Scale) {
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let mut sides = ["replayed", "fresh"].map(|side| {
        let file = folder.path().join(format!("{side}.db"));
        Side::start(&[side, file.to_str().expect("a name in plain letters")])
    });
    let mut rates = Rates::default();
    for round in 1..=scale.rounds {
        let [replayed, fresh] = rates.round(&mut sides, ROW, scale);
        println!("round {round}: {replayed:.0} duplicates/s, {fresh:.0} fresh operations/s");
    }
    drop(sides);
    let [replayed, fresh] = rates.medians();
    last_line("replay", replayed, fresh);
}
