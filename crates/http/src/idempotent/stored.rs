//! An answer as the ledger keeps it: status, allowed headers, body, trailers.
//!
//! A line of JSON, then the body as it came. The status is in the content type too, so that it outlives the body.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use onefold_config::NEVER_STORED;
use onefold_core::ledger::{Digest, StoredResult};
use serde::{Deserialize, Serialize};

use super::buffered_body::BufferedBody;

/// What a kept answer is, before its status.
const MEDIA: &str = "application/vnd.onefold.answer";

/// Headers that are kept of every answer; a route may name further ones.
pub const STORED_HEADERS: [HeaderName; 9] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LOCATION,
    header::LOCATION,
    header::ETAG,
    header::LAST_MODIFIED,
    header::LINK,
];

/// An answer that can be given again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trailers: Option<Vec<(String, String)>>,
}

impl StoredAnswer {
    /// What is kept of an answer whose body was read whole.
    pub(crate) fn of(
        status: StatusCode,
        headers: &HeaderMap,
        allowed: &[HeaderName],
        body: Bytes,
        trailers: Option<HeaderMap>,
    ) -> Self {
        Self { status, headers: allowed_of(headers, allowed), body, trailers }
    }

    /// As the ledger keeps it.
    pub(crate) fn to_result(&self) -> StoredResult {
        let head = Head {
            status: self.status.as_u16(),
            headers: texts(&self.headers),
            trailers: self.trailers.as_ref().map(texts),
        };
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        StoredResult::Kept { content_type: content_type(self.status), bytes: bytes.into() }
    }

    /// What the ledger kept; none where it is not an answer of ours.
    pub(crate) fn from_result(content_type: &str, bytes: &[u8]) -> Option<Self> {
        status_of(content_type)?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
        Some(Self {
            status: StatusCode::from_u16(head.status).ok()?,
            headers: parsed(&head.headers),
            body: Bytes::copy_from_slice(&bytes[end + 1..]),
            trailers: head.trailers.as_deref().map(parsed),
        })
    }

    /// Given again. Its length is that of this body, whatever the headers said: one that differs would be read as the
    /// end of this answer and the beginning of another.
    pub(crate) fn to_response(&self) -> Response {
        let whole = BufferedBody::memory(self.body.clone(), self.trailers.clone());
        let mut response = Response::new(Body::new(whole));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        remove_framing(response.headers_mut());
        response
    }
}

/// Removes what says where a body ends: the sender of the body says so.
pub(super) fn remove_framing(headers: &mut HeaderMap) {
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::TRANSFER_ENCODING);
}

/// What is kept of an answer that is not: its status, and how large it is, where that is known.
pub(crate) fn not_kept(status: StatusCode, body: &Body) -> StoredResult {
    StoredResult::Digest {
        content_type: Some(content_type(status)),
        bytes: http_body::Body::size_hint(body).exact().unwrap_or(0),
        digest: Digest::of(b""),
        reference: None,
    }
}

fn content_type(status: StatusCode) -> Arc<str> {
    Arc::from(format!("{MEDIA};status={}", status.as_u16()))
}

/// The status of an answer whose body is gone.
pub(crate) fn status_of(content_type: &str) -> Option<StatusCode> {
    let status = content_type.strip_prefix(MEDIA)?.strip_prefix(";status=")?;
    StatusCode::from_u16(status.parse().ok()?).ok()
}

fn allowed_of(headers: &HeaderMap, allowed: &[HeaderName]) -> HeaderMap {
    // The status of a gRPC answer without a body is in its headers.
    let chosen = |name: &HeaderName| allowed.contains(name) || name.as_str().starts_with("grpc-");
    let kept = headers.iter().filter(|(name, _)| chosen(name) && !NEVER_STORED.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    // A value is bytes; each is one character here, and the same byte again when it is read.
    let text = |value: &HeaderValue| value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn parsed(texts: &[(String, String)]) -> HeaderMap {
    let one = |(name, text): &(String, String)| {
        let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(&bytes?).ok()?))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in texts.iter().filter_map(one) {
        headers.append(name, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> StoredAnswer {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.append(header::LINK, HeaderValue::from_static("<a>; rel=next"));
        headers.append(header::LINK, HeaderValue::from_bytes(b"<b\xe9>").unwrap());
        headers.insert(header::SET_COOKIE, HeaderValue::from_static("secret=1"));
        headers.insert("x-other", HeaderValue::from_static("1"));
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        let body = Bytes::from_static(b"{\"a\":\n\x00\xff}");
        StoredAnswer::of(StatusCode::CREATED, &headers, &STORED_HEADERS, body, Some(trailers))
    }

    #[test]
    fn an_answer_is_kept_with_every_byte_and_only_its_allowed_headers() {
        let answer = answer();
        assert_eq!(answer.headers.len(), 3);
        let StoredResult::Kept { content_type, bytes } = answer.to_result() else { panic!("kept") };
        assert_eq!(&*content_type, "application/vnd.onefold.answer;status=201");
        assert_eq!(StoredAnswer::from_result(&content_type, &bytes), Some(answer));
    }

    #[test]
    fn an_answer_is_given_with_no_length_but_its_own() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("99"));
        headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        let body = Bytes::from_static(b"ok");
        let given = StoredAnswer { status: StatusCode::OK, headers, body, trailers: None }.to_response();
        assert!(given.headers().is_empty());
        assert_eq!(http_body::Body::size_hint(given.body()).exact(), Some(2));
    }

    #[test]
    fn a_cookie_is_not_kept_even_where_a_route_asks_for_it() {
        let mut headers = HeaderMap::new();
        headers.insert(header::SET_COOKIE, HeaderValue::from_static("secret=1"));
        let kept = StoredAnswer::of(StatusCode::OK, &headers, &[header::SET_COOKIE], Bytes::new(), None);
        assert!(kept.headers.is_empty());
    }

    #[test]
    fn the_status_outlives_the_body() {
        let StoredResult::Digest { content_type, .. } = answer().to_result().dropped(None) else { panic!("dropped") };
        assert_eq!(status_of(&content_type.unwrap()), Some(StatusCode::CREATED));
        assert_eq!(status_of("application/json"), None);
        assert_eq!(StoredAnswer::from_result("application/json", b"{}"), None);
    }
}
