//! The gateway over real sockets, in front of real services.

mod callers;
mod headers;
mod life;
mod smuggling;
mod stage;
mod streams;
mod tls;
mod upstreams;
