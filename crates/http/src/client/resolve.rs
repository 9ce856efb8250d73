//! Names become addresses here, and only those that a rule allows.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

use crate::network::Network;

/// Which addresses a name may lead to. An address that is written as such was chosen by the one who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressRule {
    /// Any.
    Any,
    /// Addresses of the internet, and these: a name that somebody else controls must not lead into our own network.
    Public {
        /// Networks that are allowed besides.
        allowed: Arc<[Network]>,
    },
}

impl AddressRule {
    /// Whether a name may lead there.
    pub fn allows(&self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Public { allowed } => {
                let address = address.to_canonical();
                is_public(address) || allowed.iter().any(|network| network.contains(address))
            }
        }
    }
}

/// Networks that no host of the internet has: this machine, private ones, link-local, shared, reserved, multicast.
const RESERVED: [&str; 22] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    "::/127",
    "64:ff9b::/95",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "fc00::/6",
    "ff00::/8",
];

fn is_public(address: IpAddr) -> bool {
    !RESERVED.iter().filter_map(|text| Network::parse(text)).any(|network| network.contains(address))
}

/// The system's resolver, held to a rule.
#[derive(Debug, Clone)]
pub struct CheckedResolver(pub(super) AddressRule);

type Resolving = Pin<Box<dyn Future<Output = io::Result<std::vec::IntoIter<SocketAddr>>> + Send>>;

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Resolving;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Resolving {
        let rule = self.0.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let allowed: Vec<SocketAddr> = found.into_iter().filter(|address| rule.allows(address.ip())).collect();
            if allowed.is_empty() {
                let why = "the name leads to no address that is allowed";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            Ok(allowed.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_the_internet_or_to_what_is_listed() {
        let public = AddressRule::Public { allowed: Arc::from([]) };
        for (address, allowed) in [
            ("93.184.216.34", true),
            ("2606:2800:220:1::1", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.31.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("::ffff:10.0.0.1", false),
            ("fd00::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
            ("64:ff9b::a00:1", false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(public.allows(address), allowed, "{address}");
            assert!(AddressRule::Any.allows(address));
        }
        let listed = AddressRule::Public { allowed: Arc::from([Network::parse("10.1.0.0/16").unwrap()]) };
        assert!(listed.allows("10.1.2.3".parse().unwrap()) && !listed.allows("10.2.0.1".parse().unwrap()));
    }
}
