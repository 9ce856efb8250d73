//! The host that a request names: one, in one spelling that every server reads alike.

use std::net::Ipv6Addr;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Version, header};

/// Whether this is a name, an IPv4 address or an IPv6 address in brackets, with or without a port.
///
/// Nothing else that RFC 3986 allows is a host that anyone is reached by; user information is not part of one.
pub(super) fn is_host(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() => (address, port),
            _ => return false,
        },
        None => text.find(':').map_or((text, ""), |colon| text.split_at(colon)),
    };
    let named = text.starts_with('[') || !host.is_empty() && host.bytes().all(is_of_a_name);
    named && is_port(port)
}

fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn is_port(text: &str) -> bool {
    let Some(digits) = text.strip_prefix(':') else { return text.is_empty() };
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
}

/// Says which host a request is for, in its `Host` too. An error says what is wrong with what it names.
///
/// In HTTP/1.1 the authority of an absolute target replaces `Host` (RFC 9112, 3.2.2); in HTTP/2 both must agree.
pub(super) fn settle(request: &mut Request<Body>) -> Result<(), &'static str> {
    const ONE: &str = "a request names one host";
    let mut named = request.headers().get_all(header::HOST).into_iter();
    let (host, more) = (named.next(), named.next().is_some());
    let target = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    let old = request.version() == Version::HTTP_10 || request.version() == Version::HTTP_09;
    let http2 = request.version() == Version::HTTP_2;
    if more || host.is_none() && !old && !http2 || host.is_none() && target.is_none() && !old {
        return Err(ONE);
    }
    if let (Some(host), Some(target), true) = (host, target, http2)
        && !host.as_bytes().eq_ignore_ascii_case(target)
    {
        return Err(ONE);
    }
    if [host.map(HeaderValue::as_bytes), target].into_iter().flatten().any(|named| !is_host(named)) {
        return Err("the host is not a name or an address, with or without a port");
    }
    if request.uri().scheme_str().is_some_and(|scheme| scheme != "http" && scheme != "https") {
        return Err("the target's scheme is not http or https");
    }
    if let Some(target) = target.filter(|_| !http2).and_then(|target| HeaderValue::from_bytes(target).ok()) {
        request.headers_mut().insert(header::HOST, target);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address() {
        for good in ["a", "a.example", "A-1_b.example:8443", "127.0.0.1:80", "[::1]", "[fd00::1]:443", "a~b"] {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        let bad = [
            "", " ", "a b", "u@a", "u:p@evil", "a/b", "a\\b", "a?b", "a#b", "a:", "a:x", "a:1:2", "a:70000", "a:+1",
            ":80", "[::1", "::1", "[a]", "[::1]x", "a,b", "a%2eb", "a;b", "é",
        ];
        for bad in bad {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }

    fn settled(version: Version, uri: &str, hosts: &[&str]) -> Option<String> {
        let mut request = Request::builder().version(version).uri(uri);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        let mut request = request.body(Body::empty()).unwrap();
        settle(&mut request).ok()?;
        Some(request.headers().get(header::HOST).map_or_else(String::new, |host| host.to_str().unwrap().to_owned()))
    }

    #[test]
    fn the_target_says_which_host_is_meant() {
        let rows: [(Version, &str, &[&str], Option<&str>); 12] = [
            (Version::HTTP_11, "/a", &["x"], Some("x")),
            (Version::HTTP_11, "http://y/a", &["x"], Some("y")),
            (Version::HTTP_11, "http://y/a", &[], None),
            (Version::HTTP_11, "http://u:p@y/a", &["y"], None),
            (Version::HTTP_11, "ftp://y/a", &["y"], None),
            (Version::HTTP_11, "/a", &[], None),
            (Version::HTTP_11, "/a", &["x", "x"], None),
            (Version::HTTP_11, "http://y/a", &["x y"], None),
            (Version::HTTP_10, "/a", &[], Some("")),
            (Version::HTTP_2, "http://y/a", &[], Some("")),
            (Version::HTTP_2, "http://y/a", &["Y"], Some("Y")),
            (Version::HTTP_2, "http://y/a", &["x"], None),
        ];
        for (version, uri, hosts, expected) in rows {
            assert_eq!(settled(version, uri, hosts).as_deref(), expected, "{version:?} {uri} {hosts:?}");
        }
    }
}
