//! What the embedded store promises: what every store does, and what only a file can.

mod clock;
mod conformance;
mod files;
mod full;
mod harness;
mod once;
mod owner;
mod plans;
mod sequence;
mod shared;
mod transaction;
mod wal;
