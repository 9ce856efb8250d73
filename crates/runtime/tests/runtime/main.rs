//! The runtime on a real file: perform, policies, deadlines, callers that go away, restarts, the journal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it expects; anything else fails it"
)]

mod batch;
mod callers;
mod contracts;
mod deadline;
mod dependency;
mod fixture;
mod held;
mod incidents;
mod journal;
mod kinds;
mod perform;
mod policies;
mod relay;
mod relay_limits;
mod replay;
mod restart;
mod retention;
mod shared_dependency;
mod shutdown;
mod source;
