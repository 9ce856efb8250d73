//! The gateway over real sockets, in front of real services.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod callers;
mod fixture;
mod headers;
mod life;
mod smuggling;
mod streams;
mod tls;
mod upstreams;
