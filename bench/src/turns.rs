//! Rounds of a comparison, cut into small turns: what the disk does to one side it soon does to the others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::side::{Side, Slice};
use crate::{Scale, median, rate};

/// Turns that each round is cut into.
const TURNS: usize = 5;

/// No two turns of a run have ids that begin alike.
static TURN: AtomicU64 = AtomicU64::new(0);

/// One row of a table: so many callers, and the operations of each side in a round.
#[derive(Debug, Clone, Copy)]
pub struct Row<const SIDES: usize> {
    /// Callers at once.
    pub callers: usize,
    /// Of each side; one that is slow has fewer, so that all run about as long.
    pub operations: [usize; SIDES],
}

/// Operations a second of each side, round by round.
#[derive(Debug, Clone)]
pub struct Rates<const SIDES: usize>([Vec<f64>; SIDES]);

impl<const SIDES: usize> Default for Rates<SIDES> {
    fn default() -> Self {
        Self([const { Vec::new() }; SIDES])
    }
}

impl<const SIDES: usize> Rates<SIDES> {
    /// Runs one round, and shows each side's rate in it.
    pub fn round(&mut self, sides: &mut [Side; SIDES], row: Row<SIDES>, scale: Scale) -> [f64; SIDES] {
        let slices = row.operations.map(|operations| scale.of(operations / TURNS));
        let mut took = [Duration::ZERO; SIDES];
        for _ in 0..TURNS {
            for ((side, operations), took) in sides.iter_mut().zip(slices).zip(&mut took) {
                *took += side.run(&Slice { callers: row.callers, operations, prefix: fresh_prefix() });
            }
        }
        let mut rates = [0.0; SIDES];
        for (side, rates) in rates.iter_mut().enumerate() {
            *rates = rate(slices[side] * TURNS, took[side]);
            self.0[side].push(*rates);
        }
        rates
    }

    /// The middle of the rounds.
    pub fn medians(&self) -> [f64; SIDES] {
        std::array::from_fn(|side| median(self.0[side].clone()))
    }
}

/// A prefix that no turn had; ids with it are above those of earlier turns.
pub fn fresh_prefix() -> String {
    format!("r{:06}", TURN.fetch_add(1, Ordering::Relaxed))
}
