//! A message of an event.

use async_nats::HeaderMap;
use bytes::Bytes;
use onefold_core::error::EVENT_HEADER_INVALID;
use onefold_core::event::ReplayId;
use onefold_core::port::OutgoingEvent;

use crate::fault::Fault;

/// What is before the name of a `CloudEvent`'s attribute.
const ATTRIBUTE_PREFIX: &str = "ce-";
const CONTENT_TYPE: &str = "content-type";
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// A message, with where it goes.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
}

impl Message {
    /// The message of an event: a `CloudEvent` in binary mode, under its event's id.
    ///
    /// A replay's id is before it, so that an event that is sent again on purpose is not dropped as a repeated one.
    pub(crate) fn of(outgoing: &OutgoingEvent) -> Result<Self, Fault> {
        let event = &outgoing.stored.event;
        let subject = subject(&outgoing.destination)?;
        let mut headers = HeaderMap::new();
        let id = event.id.to_string();
        match &outgoing.replay {
            Some(replay) => {
                headers.insert(ReplayId::HEADER, &*replay.0);
                headers.insert(MESSAGE_ID, format!("{replay}/{id}"));
            }
            None => headers.insert(MESSAGE_ID, id),
        }
        headers.insert(CONTENT_TYPE, &*event.content_type);
        for (name, value) in outgoing.attributes() {
            headers.insert(format!("{ATTRIBUTE_PREFIX}{name}"), &*value);
        }
        for (name, value) in &event.headers {
            headers.insert(name.as_str(), value.as_str());
        }
        Ok(Self { subject, headers, payload: event.payload.clone() })
    }
}

/// A subject that can be published to; a template may fill in what cannot.
fn subject(text: &str) -> Result<String, Fault> {
    let is_token =
        |token: &str| !token.is_empty() && !token.contains(['*', '>']) && !token.contains(char::is_whitespace);
    if text.split('.').all(is_token) {
        return Ok(text.to_owned());
    }
    Err(Fault::Event { code: EVENT_HEADER_INVALID, reason: format!("{text:?} is not a subject of NATS") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_tokens_without_wildcards() {
        for good in ["cases", "cases.case.submitted", "default.cases.v1"] {
            assert!(subject(good).is_ok(), "{good}");
        }
        for bad in ["", "cases.", ".cases", "cases..v1", "cases.*", "cases.>", "two words"] {
            assert!(subject(bad).is_err(), "{bad}");
        }
    }
}
