//! The crash campaign: a worker that is killed and stopped, and a provider in another process that counts.
//!
//! `worker` performs operations through the library and takes its orders line by line; `provider`
//! counts what really happened. The tests in `tests/crash` start both, kill one, and look at what
//! is believed afterwards.

pub mod faults;
pub mod wire;
