//! A reverse proxy whose routes take hold once: for services in any language, inbound or in front of a third party.
//!
//! Connections come from [`onefold_http::listen`] and go out by [`onefold_http::client`].
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `handler` | one request: which route, who calls, guarded or passed on |
//! | `admit`, `host` | a request's head: what is refused, which host is meant, what its sender may not say |
//! | `table`, `path` | which route a request belongs to; paths that could mean two things are refused |
//! | `identify` | who calls: a JWT, a client certificate, an `auth` sub-request |
//! | `forward`, `replayable_body` | sends a request on and says whether a byte of it left |
//! | `upstream` | which upstream is next |
//! | `answer`, `trailers` | an upstream's answer: refused where it contradicts itself, cleaned of what it may not say |
//! | `hop_by_hop`, `forwarded` | headers that end here, headers that say who was before us |
//! | `websocket` | connections that become web sockets, and nothing else |

mod admit;
mod answer;
mod forward;
mod forwarded;
mod handler;
mod hop_by_hop;
mod host;
pub mod identify;
mod path;
mod replayable_body;
mod table;
mod trailers;
mod upstream;
mod websocket;

pub use forward::Forward;
pub use handler::Gateway;
pub use onefold_config::Lookalikes;
pub use table::{Pattern, Perform, RequestGuard, RouteEntry, Table};
pub use upstream::{Upstream, Upstreams};

use axum::response::{IntoResponse as _, Response};
use onefold_core::Error;

use onefold_http::ProblemResponse;

/// An error as the answer that a client gets.
fn problem(error: Error) -> Response {
    ProblemResponse::from(error).into_response()
}
