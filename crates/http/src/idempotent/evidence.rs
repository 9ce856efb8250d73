//! Where in its answer the proof of an effect is.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use sha2::{Digest as _, Sha256};

/// Bytes of a reference that are kept.
const BYTES_MAX: usize = 512;

/// Where in an answer the reference is by which its effect is found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Evidence {
    /// `Location`, else the digest of the answer itself.
    Answer,
    /// A header.
    Header(HeaderName),
    /// A place in the JSON body, as a pointer.
    Body(String),
}

impl Evidence {
    /// The reference of a completed effect; never none, because what was done must be recordable.
    pub(super) fn of(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Arc<str> {
        let header = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let found = match self {
            Self::Answer => header(&header::LOCATION),
            Self::Header(name) => header(name),
            Self::Body(pointer) => at(body, pointer),
        };
        let found =
            found.filter(|text| !text.is_empty() && text.len() <= BYTES_MAX && !text.contains(char::is_control));
        found.map_or_else(|| digest(status, body), Arc::from)
    }
}

fn at(body: &[u8], pointer: &str) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    match body.pointer(pointer)? {
        serde_json::Value::String(text) => Some(text.clone()),
        number @ serde_json::Value::Number(_) => Some(number.to_string()),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => None,
    }
}

fn digest(status: StatusCode, body: &[u8]) -> Arc<str> {
    use std::fmt::Write as _;
    let mut text = format!("HTTP {} sha256:", status.as_u16());
    for byte in Sha256::digest(body) {
        let _ = write!(text, "{byte:02x}");
    }
    Arc::from(text)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn evidence_is_found_where_it_is_declared_and_otherwise_it_is_the_answer_itself() {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, HeaderValue::from_static("/payments/7"));
        let body = br#"{"id":"PAY-7","n":7}"#;
        let of = |evidence: Evidence, headers: &HeaderMap| evidence.of(StatusCode::CREATED, headers, body).to_string();
        assert_eq!(of(Evidence::Answer, &headers), "/payments/7");
        assert_eq!(of(Evidence::Body("/id".into()), &headers), "PAY-7");
        assert_eq!(of(Evidence::Body("/n".into()), &headers), "7");
        for absent in [Evidence::Body("/none".into()), Evidence::Header(header::ETAG), Evidence::Answer] {
            assert!(of(absent, &HeaderMap::new()).starts_with("HTTP 201 sha256:"));
        }
    }
}
