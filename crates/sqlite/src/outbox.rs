//! The outbox on one file: one writer, so the order of numbers is the order of commits, and there is one lane.

mod asides;
mod lanes;
mod operate;
mod own_table;
mod poll;
mod prune;
mod relay;
mod replay;
mod replay_row;
mod row;
mod settle;
mod staging;

/// The only lane.
const LANE: u16 = 0;
