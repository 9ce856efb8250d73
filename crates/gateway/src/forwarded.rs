//! What an upstream is told of the client: `Forwarded`, `X-Forwarded-…`, `Via`.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header};

use onefold_http::listen::{Peer, TrustedProxies};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Families of headers by which a client could make an upstream believe who or where it is, or what it asks for.
const FAMILIES: [&str; 2] = ["x-forwarded-", "x-original-"];

/// Single headers that say the same.
const SINGLE: [HeaderName; 4] = [
    header::FORWARDED,
    HeaderName::from_static("x-forwarded"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-rewrite-url"),
];

/// Whether only a proxy that we trust may say this.
pub(super) fn is_proxys_word(name: &HeaderName) -> bool {
    SINGLE.contains(name) || FAMILIES.iter().any(|family| name.as_str().starts_with(family))
}

/// Whether a header says where a request came from.
pub(super) fn tells(name: &HeaderName) -> bool {
    *name == header::VIA || is_proxys_word(name)
}

/// Says who the client is. What the client says of itself is dropped, unless it is a proxy whose word is taken.
pub(super) fn announce(parts: &mut Parts, trusted: &TrustedProxies) {
    let peer = parts.extensions.get::<Peer>().copied();
    let host = host(parts);
    if !trusted.contains(peer.as_ref()) {
        let said: Vec<HeaderName> = parts.headers.keys().filter(|name| is_proxys_word(name)).cloned().collect();
        for name in said {
            parts.headers.remove(name);
        }
    }
    let scheme = peer.map_or("http", |peer| peer.transport.scheme());
    let address = peer.and_then(|peer| peer.address);
    if let Some(address) = address {
        append(&mut parts.headers, FOR, &address.to_string());
    }
    parts.headers.entry(PROTO).or_insert(HeaderValue::from_static(scheme));
    if let Some(host) = host.as_deref().and_then(|host| HeaderValue::from_str(host).ok()) {
        parts.headers.entry(HOST).or_insert(host);
    }
    append(&mut parts.headers, header::FORWARDED, &element(address, host.as_deref(), scheme));
}

/// Says that a message passed here.
pub(super) fn via(headers: &mut HeaderMap, version: Version) {
    let version = if version == Version::HTTP_2 { "2" } else { "1.1" };
    append(headers, header::VIA, &format!("{version} onefold"));
}

/// The authority that the client asked for.
pub(super) fn host(parts: &Parts) -> Option<String> {
    let named = parts.headers.get(header::HOST).and_then(|value| value.to_str().ok());
    parts.uri.authority().map(ToString::to_string).or_else(|| named.map(str::to_owned))
}

fn element(address: Option<IpAddr>, host: Option<&str>, scheme: &str) -> String {
    let client = match address {
        Some(IpAddr::V4(address)) => format!("for={address}"),
        Some(IpAddr::V6(address)) => format!("for=\"[{address}]\""),
        None => "for=unknown".to_owned(),
    };
    let host =
        host.filter(|host| !host.contains(['"', '\\'])).map_or_else(String::new, |host| format!(";host=\"{host}\""));
    format!("{client}{host};proto={scheme}")
}

fn append(headers: &mut HeaderMap, name: HeaderName, element: &str) {
    let before: Vec<&str> = headers.get_all(&name).into_iter().filter_map(|value| value.to_str().ok()).collect();
    let all = before.into_iter().chain([element]).collect::<Vec<_>>().join(", ");
    if let Ok(value) = HeaderValue::from_str(&all) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;
    use onefold_http::listen::Transport;

    fn told(trusted: &[&str], sent: &[(&str, &str)]) -> Vec<String> {
        let mut request = Request::get("/x").header("host", "shop.example:8443");
        for (name, value) in sent {
            request = request.header(*name, *value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let peer = Peer { address: Some("192.0.2.7".parse().unwrap()), transport: Transport::Tls };
        parts.extensions.insert(peer);
        announce(&mut parts, &TrustedProxies::parse(trusted.iter().copied()).unwrap());
        let mut lines: Vec<String> = parts
            .headers
            .iter()
            .filter(|(name, _)| *name != header::HOST)
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn what_a_client_says_of_itself_is_dropped() {
        let spoofed = [
            ("x-forwarded-for", "10.0.0.1"),
            ("forwarded", "for=10.0.0.1"),
            ("x-real-ip", "10.0.0.1"),
            ("x-forwarded-user", "admin"),
            ("x-forwarded-client-cert", "admin"),
            ("x-forwarded-whatever-comes-next", "admin"),
            ("x-forwarded", "admin"),
            ("x-original-url", "/admin"),
            ("x-original-host", "admin"),
            ("x-rewrite-url", "/admin"),
        ];
        let fresh = [
            "forwarded: for=192.0.2.7;host=\"shop.example:8443\";proto=https",
            "x-forwarded-for: 192.0.2.7",
            "x-forwarded-host: shop.example:8443",
            "x-forwarded-proto: https",
        ];
        assert_eq!(told(&[], &spoofed), fresh);
        assert_eq!(told(&[], &[]), fresh);
    }

    #[test]
    fn what_a_trusted_proxy_says_is_kept_and_added_to() {
        let said = [("x-forwarded-for", "10.0.0.1"), ("x-forwarded-proto", "http"), ("x-forwarded-host", "a.example")];
        assert_eq!(
            told(&["192.0.2.0/24"], &said),
            [
                "forwarded: for=192.0.2.7;host=\"shop.example:8443\";proto=https",
                "x-forwarded-for: 10.0.0.1, 192.0.2.7",
                "x-forwarded-host: a.example",
                "x-forwarded-proto: http",
            ]
        );
    }
}
