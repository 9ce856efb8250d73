//! The layer where it is used otherwise than the table shows: gRPC, outages, odd headers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod headers;
mod outage;
#[cfg(feature = "grpc")]
mod unary;
