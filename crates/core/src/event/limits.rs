//! What an event may be: sizes, and the names of headers.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::record::NewEvent;
use crate::error::{EVENT_HEADER_INVALID, EVENT_TOO_LARGE, Error, Result};

/// How large an event may be. Both together fit a Kafka message of 1 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Bytes of a payload.
    pub payload_bytes_max: usize,
    /// Bytes of all names and values of headers.
    pub headers_bytes_max: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { payload_bytes_max: 512 * 1024, headers_bytes_max: 16 * 1024 }
    }
}

impl EventLimits {
    /// Bytes of an aggregate's id.
    pub const AGGREGATE_ID_BYTES_MAX: usize = 256;
    /// Bytes of a correlation id.
    pub const CORRELATION_ID_BYTES_MAX: usize = 256;
    /// Bytes of a content type.
    pub const CONTENT_TYPE_BYTES_MAX: usize = 128;

    /// Whether every target could be sent this event.
    pub fn check(&self, event: &NewEvent) -> Result<()> {
        let headers: usize = event.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        within("payload", event.payload.len(), self.payload_bytes_max)?;
        within("headers", headers, self.headers_bytes_max)?;
        short("aggregate id", &event.aggregate.id, Self::AGGREGATE_ID_BYTES_MAX)?;
        short("content type", &event.content_type, Self::CONTENT_TYPE_BYTES_MAX)?;
        short("correlation id", event.correlation_id.as_deref().unwrap_or_default(), Self::CORRELATION_ID_BYTES_MAX)?;
        if event.aggregate.id.is_empty() {
            return Err(unsendable("the aggregate id is empty", "an event is about one aggregate: name it"));
        }
        let texts = [("aggregate id", &*event.aggregate.id), ("content type", &*event.content_type)]
            .into_iter()
            .chain(event.correlation_id.as_deref().map(|id| ("correlation id", id)))
            .chain(event.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        for (what, text) in texts {
            if text.chars().any(char::is_control) {
                return Err(unsendable(
                    format!("{what} has a control character"),
                    "send it in the payload: no target carries control characters in a header",
                ));
            }
        }
        Ok(())
    }
}

fn within(what: &str, bytes: usize, bytes_max: usize) -> Result<()> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Error::new(EVENT_TOO_LARGE, format!("the {what} has {bytes} bytes, and {bytes_max} are allowed"))
        .hint("stage a reference to where the data is stored"))
}

fn short(what: &str, text: &str, bytes_max: usize) -> Result<()> {
    if text.len() <= bytes_max {
        return Ok(());
    }
    let detail = format!("the {what} has {} bytes, and {bytes_max} are allowed", text.len());
    Err(unsendable(detail, "it travels beside the payload: make it shorter"))
}

fn unsendable(detail: impl Into<String>, hint: &'static str) -> Error {
    Error::new(EVENT_HEADER_INVALID, detail).hint(hint)
}

/// The name of a header that travels beside a payload.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HeaderName(Arc<str>);

impl HeaderName {
    /// Bytes a name may have.
    pub const BYTES_MAX: usize = 100;
    /// Names that begin so are ours: no event brings its own.
    const OURS: [&'static str; 5] = ["ce_", "ce-", "cloudevents", "onefold-", "webhook-"];
    /// Headers that a webhook sets itself.
    const SET_BY_TARGETS: [&'static str; 8] = [
        "content-type",
        "content-length",
        "host",
        "connection",
        "transfer-encoding",
        "authorization",
        "idempotency-key",
        "nats-msg-id",
    ];

    /// Reads a name: small ASCII letters, digits, `-` and `_`, and none that a target sets itself.
    pub fn parse(text: &str) -> Result<Self> {
        let shown: String = text.chars().take(40).collect();
        let shaped = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
        if text.is_empty() || text.len() > Self::BYTES_MAX || !shaped {
            return Err(Error::new(EVENT_HEADER_INVALID, format!("{shown:?} is not the name of a header"))
                .hint("use 1 to 100 small ASCII letters, digits, - and _"));
        }
        if Self::OURS.iter().any(|prefix| text.starts_with(prefix)) || Self::SET_BY_TARGETS.contains(&text) {
            return Err(Error::new(
                EVENT_HEADER_INVALID,
                format!("the header {shown:?} is set when the event is sent"),
            )
            .hint("choose another name"));
        }
        Ok(Self(Arc::from(text)))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HeaderName {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<HeaderName> for String {
    fn from(name: HeaderName) -> Self {
        name.0.to_string()
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::event;
    use super::*;

    #[test]
    fn what_no_target_can_be_sent_is_refused_with_its_place() {
        let limits = EventLimits { payload_bytes_max: 10, headers_bytes_max: 20 };
        assert!(limits.check(&event("CASE-7", b"{}")).is_ok());
        let error = limits.check(&event("CASE-7", b"{\"a\": \"long\"}")).unwrap_err();
        assert_eq!(error.detail(), "the payload has 13 bytes, and 10 are allowed");
        for bad in ["", "CASE\n7", &"C".repeat(257)] {
            assert!(limits.check(&event(bad, b"{}")).is_err(), "{bad:?}");
        }
        let mut with_header = event("CASE-7", b"{}");
        with_header.headers.insert(HeaderName::parse("origin").unwrap(), "a\r\nb".to_owned());
        assert_eq!(limits.check(&with_header).unwrap_err().code(), EVENT_HEADER_INVALID);
    }

    #[test]
    fn a_header_that_a_target_sets_itself_is_refused() {
        for bad in ["", "Origin", "two words", "ce_id", "onefold-replay", "host", "idempotency-key", "ä"] {
            assert!(HeaderName::parse(bad).is_err(), "{bad}");
        }
        for good in ["traceparent", "x-region", "baggage", "region_1"] {
            assert!(HeaderName::parse(good).is_ok(), "{good}");
        }
    }
}
