//! A reverse proxy whose routes take hold once: for services in any language, inbound or in front of a third party.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `listen`, `tls` | connections within limits, TCP or a Unix socket, TLS, a drain before the end |
//! | `strict` | a head that gives its body two lengths is refused |
//! | `door` | one request: which route, who calls, guarded or passed on |
//! | `admit`, `host` | a request's head: what is refused, which host is meant, what its sender may not say |
//! | `table`, `path` | which route a request belongs to; paths that could mean two things are refused |
//! | `identify` | who calls: a JWT, a client certificate, an `auth` sub-request |
//! | `forward`, `lent` | sends a request on and says whether a byte of it left |
//! | `upstream`, `connect` | which upstream is next; connections to it |
//! | `answer`, `trailers` | an upstream's answer: refused where it contradicts itself, cleaned of what it may not say |
//! | `hop`, `forwarded`, `peer` | headers that end here, headers that say who was before us, who that is |
//! | `upgrade` | connections that become web sockets, and nothing else |

mod admit;
mod answer;
mod connect;
mod door;
mod forward;
mod forwarded;
mod hop;
mod host;
pub mod identify;
mod lent;
mod listen;
mod path;
mod peer;
mod strict;
mod table;
mod tls;
mod trailers;
mod upgrade;
mod upstream;

pub use connect::{Connect, Protocol};
pub use door::Gateway;
pub use forward::Forward;
pub use listen::{ListenAt, Listener, cannot_listen};
pub use peer::{ClientCertificate, Peer, Transport, TrustedProxies};
pub use table::{Entry, Guarded, Lookalikes, Pattern, Perform, Table};
pub use tls::{ServerTls, TlsFiles};
pub use upstream::{Upstream, Upstreams};

use axum::response::{IntoResponse as _, Response};
use onefold_core::Error;

use crate::rejection::Rejection;

/// An error as the answer that a client gets.
fn problem(error: Error) -> Response {
    Rejection::from(error).into_response()
}
