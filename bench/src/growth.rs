//! The cost of an operation by the rows that a ledger has: what both stores share, and SQLite.

use std::path::Path;

use crate::ours::Ours;
use crate::side::{self, Side, Slice};
use crate::tasks::Tasks;
use crate::{Scale, last_line_with, median, point, random_id, rate, rising_id};

pub(crate) const CALLERS: usize = 64;
pub(crate) const MEASURED: usize = 10_000;
const ROWS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// From so many rows on, a ledger is filled once: what the rounds add to it is little. A smaller one is made anew for
/// each round, so that it stays small.
const FILLED_ONCE_FROM: usize = 1_000_000;

/// How ids are made.
#[derive(Clone, Copy)]
pub(crate) struct Ids {
    pub(crate) name: &'static str,
    pub(crate) make: fn(&str, usize) -> String,
}

pub(crate) const RISING: Ids = Ids { name: "rising", make: rising_id };
pub(crate) const RANDOM: Ids = Ids { name: "random", make: random_id };

impl Ids {
    fn named(name: &str) -> Self {
        [RISING, RANDOM].into_iter().find(|ids| ids.name == name).unwrap_or_else(|| panic!("there are no {name} ids"))
    }
}

/// Becomes one ledger, on a store of its own.
pub fn serve(args: &[String]) {
    let [store, place, ids] = args else { panic!("a store, a place and ids: {args:?}") };
    let make = Ids::named(ids).make;
    match store.as_str() {
        "sqlite" => side::serve(Tasks::open(Ours::open(Path::new(place)), make, Ours::perform)),
        "postgres" => {
            let url = crate::schemas::url();
            side::serve(Tasks::open(Ours::open_schema(&url, place), make, Ours::perform));
        }
        other => panic!("there is no store {other}"),
    }
}

/// The rates of one kind of ids, by rows.
pub(crate) struct Curve {
    series: String,
    rates: Vec<(usize, Vec<f64>)>,
}

impl Curve {
    pub(crate) fn new(series: &str, rows: &[usize]) -> Self {
        Self { series: series.to_owned(), rates: rows.iter().map(|&rows| (rows, vec![])).collect() }
    }

    /// The rate of one round with this many rows.
    pub(crate) fn add(&mut self, rows: usize, rate: f64) {
        self.rates.iter_mut().filter(|(at, _)| *at == rows).for_each(|(_, rates)| rates.push(rate));
    }

    fn medians(&self) -> Vec<(usize, f64)> {
        self.rates.iter().map(|(rows, rates)| (*rows, median(rates.clone()))).collect()
    }
}

/// Says what growth costs; the last line is of the first curve.
pub(crate) fn show(curves: &[Curve]) {
    let ends = |curve: &Curve| {
        let medians = curve.medians();
        (medians[0], medians[medians.len() - 1])
    };
    for curve in curves.iter().rev() {
        let ((_, few), (rows, many)) = ends(curve);
        println!(
            "{} ids: {:.2} times the cost with {rows} rows ({many:.0}/s against {few:.0}/s)",
            curve.series,
            few / many
        );
    }
    for curve in curves {
        for (rows, rate) in curve.medians() {
            point("growth", &curve.series, rows, 1e6 / rate);
        }
    }
    let ((_, few), (_, many)) = ends(&curves[0]);
    // Ours is the large table, the peer the small one; the ratio is that of the costs.
    last_line_with("growth", few / many, many, few);
}

/// A ledger of one size: filled once, or anew in each round.
pub(crate) fn is_filled_once(rows: usize) -> bool {
    rows >= FILLED_ONCE_FROM
}

/// Operations a second in one turn.
pub(crate) fn measure(side: &mut Side, prefix: String, operations: usize) -> f64 {
    rate(operations, side.run(&Slice { callers: CALLERS, operations, prefix }))
}

/// Fills, measures in turns, and says what the growth costs.
pub fn on_sqlite(scale: Scale) {
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    show(&[RISING, RANDOM].map(|ids| curve(folder.path(), ids, scale)));
}

fn curve(folder: &Path, ids: Ids, scale: Scale) -> Curve {
    let filled = |name: &str, rows: usize| {
        let file = folder.join(format!("{}-{name}.db", ids.name));
        let mut side = Side::start(&["sqlite", file.to_str().expect("a name in plain letters"), ids.name]);
        let rate = measure(&mut side, "a".to_owned(), rows);
        if is_filled_once(rows) {
            println!("{}: filled {rows} rows at {rate:.0}/s", ids.name);
        }
        side
    };
    let sizes = scale.sizes(&ROWS);
    let mut large: Vec<(usize, Side)> = sizes
        .iter()
        .filter(|rows| is_filled_once(**rows))
        .map(|&rows| (rows, filled(&rows.to_string(), rows)))
        .collect();
    let mut curve = Curve::new(ids.name, sizes);
    for round in 0..scale.rounds {
        for &rows in sizes {
            let mut fresh = None;
            let side = match large.iter_mut().find(|(of, _)| *of == rows) {
                Some((_, side)) => side,
                None => fresh.insert(filled(&format!("{rows}-{round}"), rows)),
            };
            let rate = measure(side, format!("b{round}"), scale.of(MEASURED));
            println!("{} · round {}: {rate:.0}/s with {rows} rows", ids.name, round + 1);
            curve.add(rows, rate);
        }
    }
    curve
}
