//! The promises of an outbox, on every store that has one.

pub mod asides;
pub mod fixture;
pub mod operate;
pub mod pages;
pub mod replays;
pub mod staging;

mod suite;
