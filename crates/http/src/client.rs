//! One outgoing HTTP client: for upstreams, questions to providers, webhooks and keys.

mod connect;
mod pem;
mod resolve;
mod webhook;
mod webhook_secret;

pub use crate::network::Network;
pub use connect::{Connect, HttpClient, Protocol};
pub(crate) use pem::{certificates, roots, unusable};
pub use resolve::AddressRule;
pub use webhook::Webhook;
pub use webhook_secret::WebhookSecret;
