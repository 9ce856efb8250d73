//! What the benchmarks share: sides, rounds, medians, points of curves, and the last line.
//!
//! Every benchmark runs us and the peer in one run, each in a process of its own, round by round in turn, and
//! compares medians: the machine may be noisy, the ratio is what counts.

pub mod api;
pub mod batches;
pub mod gateway;
pub mod growth;
pub mod growth_postgres;
pub mod load;
pub mod machine;
pub mod naive;
pub mod naive_postgres;
pub mod ours;
pub mod outbox;
pub mod peer;
pub mod restate;
pub mod schemas;
pub mod side;
pub mod tasks;
pub mod turns;
pub mod upstream;

pub use batches::Batches;

use std::time::{Duration, Instant};

/// How much to run.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Rounds, interleaved.
    pub rounds: usize,
    /// Multiplies every count of operations; a smoke run takes a fraction.
    pub divide_by: usize,
}

impl Scale {
    /// From the command line: `--smoke` only shows that everything runs. A measured run begins on a quiet machine, or
    /// with `--busy`.
    pub fn from_args() -> Self {
        machine::must_be_quiet();
        if std::env::args().any(|arg| arg == "--smoke") {
            Self { rounds: 1, divide_by: 20 }
        } else {
            Self { rounds: 5, divide_by: 1 }
        }
    }

    /// This many operations, or a fraction of them.
    pub fn of(self, operations: usize) -> usize {
        (operations / self.divide_by).max(64)
    }

    /// All of these sizes, or the two least of them.
    pub fn sizes(self, all: &[usize]) -> &[usize] {
        if self.divide_by == 1 { all } else { &all[..2] }
    }
}

/// Operations a second.
pub fn rate(operations: usize, took: Duration) -> f64 {
    operations as f64 / took.as_secs_f64()
}

/// The middle of some figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// How long something took.
pub async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = Instant::now();
    let done = work.await;
    (done, began.elapsed())
}

/// A point of a curve, for `cargo xtask bench report`.
pub fn point(name: &str, series: &str, x: usize, y: f64) {
    println!("point {name} series={series} x={x} y={y:.1}");
}

/// The line that ends every benchmark; there is none where the machine got busy meanwhile.
pub fn last_line(name: &str, ours: f64, peer: f64) {
    last_line_with(name, ours / peer, ours, peer);
}

/// The same, where the ratio is not that of the rates.
pub fn last_line_with(name: &str, ratio: f64, ours: f64, peer: f64) {
    machine::must_be_quiet();
    println!("{name} ratio={ratio:.2} ours={ours:.0}/s peer={peer:.0}/s");
}

/// A rising id, as recommended to callers.
pub fn rising_id(prefix: &str, number: usize) -> String {
    format!("{prefix}-{number:012}")
}

/// An id anywhere in the key space, the same for the same number.
pub fn random_id(prefix: &str, number: usize) -> String {
    let mut state = number as u64 ^ 0x9E37_79B9_7F4A_7C15;
    for _ in 0..3 {
        state ^= state >> 30;
        state = state.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state ^= state >> 27;
    }
    format!("{state:016x}-{prefix}-{number}")
}
