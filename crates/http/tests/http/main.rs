//! Errors over HTTP, from outside: what is answered, what is logged, and what is in neither.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod conflicts;
mod databases;
mod log;
mod panics;
mod problems;
mod webhook;
