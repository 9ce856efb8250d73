//! Who is at the other end of a connection, and whose word is taken for others.

use std::net::IpAddr;
use std::sync::Arc;

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};

use crate::network::Network;

/// The other end of the connection that a request came on; in every request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its address; none on a Unix socket.
    pub address: Option<IpAddr>,
    /// How it speaks to us.
    pub transport: Transport,
}

/// How a peer speaks to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// As it is.
    Plain,
    /// Encrypted.
    Tls,
}

impl Transport {
    /// The scheme that clients see.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls => "https",
        }
    }
}

/// The name in a client's verified certificate; in the request's extensions where there was one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// `URI:…`, else `DNS:…`, else `DN:…`.
    pub subject: Arc<str>,
}

/// Proxies before this one, whose word about the client is taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<Network>,
    unix: bool,
}

impl TrustedProxies {
    /// Reads addresses such as `10.0.0.7`, networks such as `10.0.0.0/8`, and `unix` for every process that may open the socket.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut read = Self::default();
        for text in texts {
            if text == "unix" {
                read.unix = true;
                continue;
            }
            let network = Network::parse(text).ok_or_else(|| {
                Error::new(DECLARATION_INVALID, format!("{text:?} is not an address or a network"))
                    .hint("write \"10.0.0.7\", \"10.0.0.0/8\", \"fd00::/8\" or \"unix\"")
            })?;
            read.networks.push(network);
        }
        Ok(read)
    }

    /// Whether this peer's word is taken.
    pub fn contains(&self, peer: Option<&Peer>) -> bool {
        match peer.map(|peer| peer.address) {
            None => false,
            Some(None) => self.unix,
            Some(Some(address)) => self.networks.iter().any(|network| network.contains(address.to_canonical())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_trusted_by_address_network_or_socket() {
        let trusted = TrustedProxies::parse(["10.0.0.0/8", "192.0.2.7", "fd00::/8"]).unwrap();
        let rows = [
            ("10.9.8.7", true),
            ("11.0.0.1", false),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
            ("::ffff:10.1.1.1", true),
            ("fd12::1", true),
            ("fe80::1", false),
        ];
        for (address, expected) in rows {
            let peer = Peer { address: Some(address.parse().unwrap()), transport: Transport::Plain };
            assert_eq!(trusted.contains(Some(&peer)), expected, "{address}");
        }
        let local = Peer { address: None, transport: Transport::Plain };
        assert!(!trusted.contains(Some(&local)) && !trusted.contains(None));
        assert!(TrustedProxies::parse(["unix"]).unwrap().contains(Some(&local)));
        for bad in ["10.0.0.0/33", "proxy", "10.0.0", "::1/129", ""] {
            assert!(TrustedProxies::parse([bad]).is_err(), "{bad}");
        }
        assert!(TrustedProxies::parse(["0.0.0.0/0"]).unwrap().networks[0].contains("1.2.3.4".parse().unwrap()));
    }
}
