//! The case service: as a running process over a socket, and its pure parts.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test says by panicking what is wrong")]

mod idempotency;
mod operate;
mod projections;
mod rows;
mod service;
mod submit;
mod validations;
