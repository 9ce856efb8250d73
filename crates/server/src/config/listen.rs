//! Addresses to listen on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What an address is, and how one is written.
pub(super) const WANTED: (&str, &str) =
    ("an address", "HOST:PORT, for example 127.0.0.1:7070; HOST is an IP address or localhost");

/// The same for the gateway.
pub(super) const WANTED_BY_GATEWAY: (&str, &str) =
    ("an address", "HOST:PORT, for example 127.0.0.1:7080, or unix:PATH; HOST is an IP address or localhost");

/// An IP address and a port. Of names only `localhost`, which means the same on every machine: what another one means
/// is up to a resolver, and so would be who can reach us.
pub(super) fn address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?)),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_loopback_and_other_names_are_not_addresses() {
        let rows = [
            ("127.0.0.1:7070", Some("127.0.0.1:7070")),
            ("localhost:7070", Some("127.0.0.1:7070")),
            ("[::1]:7070", Some("[::1]:7070")),
            ("0.0.0.0:0", Some("0.0.0.0:0")),
            ("localhost", None),
            ("localhost:port", None),
            ("example.org:7070", None),
            ("127.0.0.1", None),
            (":7070", None),
        ];
        for (text, found) in rows {
            assert_eq!(address(text), found.map(|found| found.parse().unwrap()), "{text}");
        }
    }
}
