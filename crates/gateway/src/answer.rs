//! An upstream's answer: refused where it contradicts itself, and cleaned of what is not the upstream's to say.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};

use super::hop_by_hop;
use onefold_http::idempotent::strip_ours;

/// Headers of an answer that reach the client; what comes after them is dropped.
pub(super) const HEADERS_MAX: usize = 128;
/// Bytes of their names and values.
pub(super) const HEADERS_BYTES_MAX: usize = 64 * 1024;

/// Headers that tell what an answer is: they are the last to be dropped.
const FIRST: [HeaderName; 13] = [
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_RANGE,
    header::LOCATION,
    header::ETAG,
    header::LAST_MODIFIED,
    header::CACHE_CONTROL,
    header::VARY,
    header::RETRY_AFTER,
    header::WWW_AUTHENTICATE,
    header::ALLOW,
    HeaderName::from_static("onefold-effect"),
];

/// Whether the request asked to change the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    Asked,
    Unasked,
}

/// Refuses an answer whose end two readers could see in different places (RFC 9112, 6.3), and one that changes the
/// protocol although nobody asked. Its connection must not be used again.
pub(super) fn check<B>(response: &Response<B>, switch: Switch) -> Result<(), &'static str> {
    let headers = response.headers();
    if response.status() == StatusCode::SWITCHING_PROTOCOLS && switch == Switch::Unasked {
        return Err("the upstream changed to a protocol that it was not asked for");
    }
    let length = length(headers).map_err(|()| "the upstream's answer has an invalid Content-Length")?;
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    if length.is_some() {
        return Err("the upstream's answer has a Content-Length and a Transfer-Encoding");
    }
    if only_chunked(headers) { Ok(()) } else { Err("the upstream's answer has a transfer coding other than chunked") }
}

/// Removes what belongs to the upstream's connection or is ours to say. What is left of `Content-Length` describes a body
/// that is not sent; the length of one that is sent is made from the body itself.
pub(super) fn clean(headers: &mut HeaderMap, asked: &Method, first: &[HeaderName]) {
    let length = length(headers).ok().flatten();
    hop_by_hop::strip(headers);
    strip_ours(headers);
    headers.remove(header::CONTENT_LENGTH);
    if let Some(length) = length.filter(|_| asked == Method::HEAD) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    limit(headers, first);
}

/// Whether chunks are the only coding, named once.
pub(super) fn only_chunked(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::TRANSFER_ENCODING).into_iter();
    let one = values.next().is_some_and(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"));
    one && values.next().is_none()
}

/// The one length that a head gives its body; several that say the same are one.
fn length(headers: &HeaderMap) -> Result<Option<u64>, ()> {
    let mut found = None;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        for text in value.as_bytes().split(|byte| *byte == b',') {
            let read = digits(text.trim_ascii()).ok_or(())?;
            if found.replace(read).is_some_and(|before| before != read) {
                return Err(());
            }
        }
    }
    Ok(found)
}

fn digits(text: &[u8]) -> Option<u64> {
    // A sign is not a digit, although numbers are read with one.
    text.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

/// Keeps as many headers as pass; an answer with too many of them is still the answer.
fn limit(headers: &mut HeaderMap, first: &[HeaderName]) {
    let size = |name: &HeaderName, value: &HeaderValue| name.as_str().len() + value.len();
    let bytes: usize = headers.iter().map(|(name, value)| size(name, value)).sum();
    if headers.len() <= HEADERS_MAX && bytes <= HEADERS_BYTES_MAX {
        return;
    }
    let all = std::mem::take(headers);
    let before = all.len();
    let comes_first = |name: &HeaderName| FIRST.contains(name) || first.contains(name);
    let (leading, others): (Vec<_>, Vec<_>) = all.iter().partition(|(name, _)| comes_first(name));
    let mut bytes_left = HEADERS_BYTES_MAX;
    for (name, value) in leading.into_iter().chain(others) {
        let Some(left) = bytes_left.checked_sub(size(name, value)) else { continue };
        if headers.len() < HEADERS_MAX {
            headers.append(name.clone(), value.clone());
            bytes_left = left;
        }
    }
    tracing::warn!(received = before, kept = headers.len(), "an upstream's answer has too many headers");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    fn answer(status: u16, lines: &[(&str, &str)]) -> Response<()> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        *response.headers_mut() = headers(lines);
        response
    }

    #[test]
    fn an_answer_with_two_ends_is_refused() {
        type Headers = &'static [(&'static str, &'static str)];
        let rows: [(u16, Headers, bool); 12] = [
            (200, &[("content-length", "5")], true),
            (200, &[("content-length", "5"), ("content-length", "5")], true),
            (200, &[("content-length", "5, 5")], true),
            (200, &[("transfer-encoding", "Chunked")], true),
            (200, &[("content-length", "5"), ("content-length", "6")], false),
            (200, &[("content-length", "5, 6")], false),
            (200, &[("content-length", "+5")], false),
            (200, &[("content-length", "")], false),
            (200, &[("content-length", "5"), ("transfer-encoding", "chunked")], false),
            (200, &[("transfer-encoding", "gzip, chunked")], false),
            (200, &[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")], false),
            (101, &[("upgrade", "websocket")], false),
        ];
        for (status, lines, sound) in rows {
            assert_eq!(check(&answer(status, lines), Switch::Unasked).is_ok(), sound, "{status} {lines:?}");
        }
        assert!(check(&answer(101, &[]), Switch::Asked).is_ok());
    }

    #[test]
    fn a_length_stays_only_where_no_body_is_sent() {
        for (asked, left) in [(Method::GET, None), (Method::POST, None), (Method::HEAD, Some("5"))] {
            let mut cleaned = headers(&[("content-length", "5, 5"), ("connection", "close")]);
            clean(&mut cleaned, &asked, &[]);
            assert_eq!(cleaned.get(header::CONTENT_LENGTH).map(|value| value.to_str().unwrap()), left, "{asked}");
            assert_eq!(cleaned.len(), usize::from(left.is_some()));
        }
    }

    #[test]
    fn what_an_answer_is_stays_when_it_has_too_many_headers() {
        let named: Vec<String> = (0..300).map(|at| format!("x-{at}")).collect();
        let mut lines: Vec<(&str, &str)> = named.iter().map(|name| (name.as_str(), "1")).collect();
        lines.extend([("location", "/payments/1"), ("x-reference", "R-1")]);
        let mut cleaned = headers(&lines);
        clean(&mut cleaned, &Method::POST, &[HeaderName::from_static("x-reference")]);
        assert_eq!(cleaned.len(), HEADERS_MAX);
        assert!(cleaned.contains_key("location") && cleaned.contains_key("x-reference"));
        let long = "v".repeat(HEADERS_BYTES_MAX);
        let mut cleaned = headers(&[("x-long", &long), ("location", "/payments/1"), ("x-short", "1")]);
        clean(&mut cleaned, &Method::POST, &[]);
        assert_eq!(cleaned.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["location", "x-short"]);
    }
}
