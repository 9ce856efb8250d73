//! One outgoing HTTP client: for upstreams, questions to providers, webhooks and keys.

mod connect;
mod pem;

pub use connect::{Connect, HttpClient, Protocol};
pub(crate) use pem::{certificates, roots, unusable};
