//! The case service: as a running process over a socket, and its pure parts.

mod idempotency;
mod projections;
mod rows;
mod service;
mod submit;
mod validations;
