//! One listener for the API and the gateway: connections within limits, TCP or a Unix socket, TLS, and a drain before
//! the end.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `listener` | accepts connections and serves a router on them until it is told to stop |
//! | `connection` | one connection, within its limits, whatever protocol it speaks |
//! | `head_check` | a head that gives its body two lengths is refused |
//! | `tls`, `peer` | certificates, and who is at the other end |

mod connection;
mod head_check;
mod listener;
mod peer;
mod tls;

pub use connection::Activity;
pub use listener::{ConnectionPermit, ListenAt, Listener, cannot_listen};
pub use onefold_config::{ConnectionLimits, TlsFiles};
pub use peer::{ClientCertificate, Peer, Transport, TrustedProxies};
pub use tls::ServerTls;
