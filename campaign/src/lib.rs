//! The crash campaign: processes that are killed and stopped, and a provider in another process that counts.
//!
//! `worker` performs operations through the library and takes its orders line by line; `provider`
//! counts what really happened; `served` is the real command line with the same fault points, for the
//! server and for `run`. The tests in `tests/crash` start them, kill one, and look at what is believed
//! afterwards.

pub mod faults;
pub mod http;
pub mod wire;
