//! Headers that belong to one connection and end here.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Headers of one connection, whatever `Connection` says.
const OF_ONE_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Removes what belongs to the connection that a message came on; `TE: trailers` stays, because trailers pass.
pub(super) fn strip(headers: &mut HeaderMap) {
    strip_but(headers, |_| false);
}

/// The same, but what `Connection` names stays where it is `kept`: a sender may not take away what is meant for us, or
/// what others say of it.
pub(super) fn strip_but(headers: &mut HeaderMap, kept: impl Fn(&HeaderName) -> bool) {
    let trailers = tokens(headers, &header::TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    let named: Vec<HeaderName> = tokens(headers, &header::CONNECTION)
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        .filter(|name| !kept(name))
        .collect();
    for name in named.iter().chain(&OF_ONE_CONNECTION) {
        headers.remove(name);
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// Removes a header in each spelling that servers which write dashes as underscores take for it.
pub(super) fn remove_spellings(headers: &mut HeaderMap, name: &HeaderName) {
    let dashed = name.as_str().replace('_', "-");
    let spelled: Vec<HeaderName> =
        headers.keys().filter(|sent| sent.as_str().replace('_', "-") == dashed).cloned().collect();
    for name in spelled {
        headers.remove(name);
    }
}

/// Makes one line of the cookies that HTTP/2 clients send in several: HTTP/1.1 has one.
pub(super) fn join_cookies(headers: &mut HeaderMap) {
    let lines: Vec<&[u8]> = headers.get_all(header::COOKIE).into_iter().map(HeaderValue::as_bytes).collect();
    if lines.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..]))
    {
        headers.insert(header::COOKIE, joined);
    }
}

/// The comma-separated words of a header, over all its lines.
pub(super) fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|token| token.split(';').next().unwrap_or(token).trim())
        .filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_one_connection_does_not_pass() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("connection", "keep-alive"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("te", "trailers;q=0.5, gzip"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("http2-settings", "AAMAAABkAAQAAP__"),
            ("trailer", "x-sum"),
            ("x-yours", "2"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        strip(&mut headers);
        let mut left: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        left.sort_unstable();
        assert_eq!(left, [("te", "trailers"), ("trailer", "x-sum"), ("x-yours", "2")]);
    }

    #[test]
    fn what_is_kept_stays_whatever_connection_says() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("connection", "x-key, x-mine, te"), ("x-key", "k"), ("x-mine", "1"), ("te", "gzip")] {
            headers.append(name, value.parse().unwrap());
        }
        strip_but(&mut headers, |name| name == "x-key" || name == "te");
        assert_eq!(headers, HeaderMap::from_iter([("x-key".parse().unwrap(), "k".parse().unwrap())]));
    }

    #[test]
    fn a_header_is_removed_in_each_of_its_spellings() {
        for configured in ["x-api-key", "x_api_key"] {
            let names = ["x-api-key", "x_api_key", "x-api_key", "x-api-keys"];
            let mut headers: HeaderMap =
                names.map(|name| (name.parse().unwrap(), "1".parse().unwrap())).into_iter().collect();
            remove_spellings(&mut headers, &configured.parse().unwrap());
            assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-api-keys"], "{configured}");
        }
    }

    #[test]
    fn cookies_are_one_line() {
        let mut headers = HeaderMap::new();
        for line in ["a=1", "b=2; c=3"] {
            headers.append(header::COOKIE, HeaderValue::from_static(line));
        }
        join_cookies(&mut headers);
        assert_eq!(headers.get_all(header::COOKIE).into_iter().collect::<Vec<_>>(), ["a=1; b=2; c=3"]);
    }
}
