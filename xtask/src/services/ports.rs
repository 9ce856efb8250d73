//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};

/// Below the ports that systems give to outgoing connections, so that none of those takes ours while a service starts.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// The remembered ports where they are still free, else others that are.
///
/// Two workspaces begin at different numbers, as `seed` says, and so seldom choose the same.
pub(super) fn choose(count: usize, remembered: &[u16], taken: &[u16], seed: u32) -> Result<Vec<u16>, String> {
    if remembered.len() == count && remembered.iter().all(|port| is_free(*port)) {
        return Ok(remembered.to_vec());
    }
    let start = u16::try_from(seed % u32::from(COUNT)).unwrap_or_default();
    let candidates = (0..COUNT).map(|step| FIRST + (start + step) % COUNT);
    let ports: Vec<u16> = candidates.filter(|port| !taken.contains(port) && is_free(*port)).take(count).collect();
    if ports.len() == count { Ok(ports) } else { Err("no free port on loopback".to_owned()) }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_distinct_and_not_those_of_others() {
        let first = choose(2, &[], &[], 7).unwrap();
        let second = choose(2, &[], &first, 7).unwrap();
        assert!(first[0] != first[1] && second.iter().all(|port| !first.contains(port)), "{first:?} {second:?}");
    }

    #[test]
    fn remembered_ports_are_chosen_again_unless_one_is_in_use() {
        let ports = choose(1, &[], &[], 99).unwrap();
        assert_eq!(choose(1, &ports, &[], 5_000).unwrap(), ports);
        let _busy = TcpListener::bind((Ipv4Addr::LOCALHOST, ports[0])).unwrap();
        assert_ne!(choose(1, &ports, &[], 5_000).unwrap(), ports);
    }
}
