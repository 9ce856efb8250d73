//! Addresses and networks of addresses, as configuration writes them.

use std::net::IpAddr;

/// An address, or all that share its first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads `10.0.0.7`, `10.0.0.0/8` or `fd00::/8`; none for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(all), |bits| bits.parse().ok().filter(|bits| *bits <= all))?;
        Some(Self { address, bits })
    }

    /// Whether an address is in it.
    pub fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                u32::from(mine) & mask == u32::from(other) & mask
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                u128::from(mine) & mask == u128::from(other) & mask
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}
