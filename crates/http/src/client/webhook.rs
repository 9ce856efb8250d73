//! A webhook as the target of a relay: one signed request an event.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::Full;
use onefold_core::error::{Code, EVENT_HEADER_INVALID, EVENT_TARGET_REFUSED, RATE_LIMITED, TARGET_UNAVAILABLE};
use onefold_core::event::ReplayId;
use onefold_core::port::{BoxFuture, Clock, EventSender, OutgoingEvent, Publication, RefusedRetry};
use onefold_core::{Error, Result};

use super::connect::HttpClient;
use super::webhook_secret::WebhookSecret;
use crate::idempotent::IDEMPOTENCY_KEY;

/// A receiver of events over HTTP. Redirects are not followed.
pub struct Webhook {
    address: Uri,
    secret: WebhookSecret,
    client: HttpClient<Full<Bytes>>,
    clock: Arc<dyn Clock>,
}

impl Webhook {
    /// Sends to this address, signed with this secret.
    pub fn new(address: Uri, secret: WebhookSecret, client: HttpClient<Full<Bytes>>, clock: Arc<dyn Clock>) -> Self {
        Self { address, secret, client, clock }
    }

    fn request(&self, outgoing: &OutgoingEvent) -> Result<Request<Full<Bytes>>> {
        let event = &outgoing.stored.event;
        let id = event.id.to_string();
        let seconds = self.clock.now().as_micros() / 1_000_000;
        let signature = self.secret.sign(&id, seconds, &event.payload)?;
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.address.clone())
            .header(header::CONTENT_TYPE, &*event.content_type)
            .header(header::USER_AGENT, concat!("onefold/", env!("CARGO_PKG_VERSION")))
            .header(IDEMPOTENCY_KEY, format!("\"{id}\""))
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature);
        for (name, value) in outgoing.attributes() {
            request = request.header(format!("ce-{name}"), encoded(&value));
        }
        if let Some(replay) = &outgoing.replay {
            request = request.header(ReplayId::HEADER, &*replay.0);
        }
        for (name, value) in &event.headers {
            let unsendable = || Error::new(EVENT_HEADER_INVALID, format!("the header {name} cannot be sent"));
            let name = HeaderName::from_bytes(name.as_str().as_bytes()).map_err(|_| unsendable())?;
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| unsendable())?;
            request = request.header(name, value);
        }
        request
            .body(Full::new(event.payload.clone()))
            .map_err(|cause| Error::new(EVENT_HEADER_INVALID, "the event is not a request").caused_by(cause))
    }

    async fn post(&self, outgoing: &OutgoingEvent, within: Duration) -> Publication {
        let request = match self.request(outgoing) {
            Ok(request) => request,
            Err(error) => return never(&error),
        };
        match tokio::time::timeout(within, self.client.request(request)).await {
            Err(_) => unavailable(TARGET_UNAVAILABLE, "the webhook did not answer in time".to_owned(), None),
            Ok(Err(cause)) if leads_nowhere(&cause) => {
                let reason = "the webhook's name leads into a private network that is not listed under `allow`";
                unavailable(TARGET_UNAVAILABLE, reason.to_owned(), None)
            }
            Ok(Err(cause)) if cause.is_connect() => {
                unavailable(TARGET_UNAVAILABLE, "the webhook cannot be reached".to_owned(), None)
            }
            Ok(Err(_)) => unavailable(TARGET_UNAVAILABLE, "the connection to the webhook was lost".to_owned(), None),
            Ok(Ok(answer)) => {
                let after = answer.headers().get(header::RETRY_AFTER).and_then(seconds);
                meaning(answer.status(), after)
            }
        }
    }
}

/// Whether the resolver refused every address of the name ([`AddressRule`](super::AddressRule)).
fn leads_nowhere(cause: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(cause), |cause| cause.source()).any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|cause| cause.kind() == ErrorKind::PermissionDenied)
    })
}

/// What a status says about the event. Four of them are about the event itself, every other one about the receiver.
fn meaning(status: StatusCode, after: Option<Duration>) -> Publication {
    let number = status.as_u16();
    match number {
        200..=299 => Publication::Published { position: None },
        400 | 413 | 415 | 422 => Publication::Refused {
            code: EVENT_TARGET_REFUSED,
            reason: format!("the webhook answered {number}"),
            retry: RefusedRetry::After(after),
        },
        300..=399 => {
            let reason = format!("the webhook answered {number}, and redirects are not followed");
            unavailable(TARGET_UNAVAILABLE, reason, after)
        }
        429 => unavailable(RATE_LIMITED, "the webhook answered 429".to_owned(), after),
        _ => unavailable(TARGET_UNAVAILABLE, format!("the webhook answered {number}"), after),
    }
}

fn unavailable(code: Code, reason: String, after: Option<Duration>) -> Publication {
    Publication::Unavailable { code, reason, after }
}

fn never(error: &Error) -> Publication {
    Publication::Refused { code: error.code(), reason: error.detail().to_owned(), retry: RefusedRetry::Never }
}

/// The wait of a `Retry-After` in seconds; a date is not read, the relay then waits by its own schedule.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The value of an attribute as `CloudEvents` puts it into a header: what is not printable ASCII, and `"`, `%` and space,
/// as the percent-encoded bytes of its UTF-8.
fn encoded(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

impl EventSender for Webhook {
    fn target(&self) -> String {
        let host = self.address.authority().map_or("", |authority| authority.as_str());
        format!("{}://{host}", self.address.scheme_str().unwrap_or("https"))
    }

    fn unfenced(&self) -> Option<&'static str> {
        Some("a relay that was paused beyond its lease may send an event once more; its webhook-id stays the same")
    }

    fn check(&self, _lease_for: Duration, _within: Duration) -> BoxFuture<'_, Result<()>> {
        // A webhook has no question that is not an event.
        Box::pin(std::future::ready(Ok(())))
    }

    fn send<'a>(&'a self, event: &'a OutgoingEvent, within: Duration) -> BoxFuture<'a, Publication> {
        Box::pin(self.post(event, within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_statuses_are_about_the_event_and_the_others_about_the_receiver() {
        for status in [200_u16, 201, 202, 204] {
            let said = meaning(StatusCode::from_u16(status).unwrap(), None);
            assert!(matches!(said, Publication::Published { .. }), "{status}");
        }
        for status in [400_u16, 413, 415, 422] {
            let said = meaning(StatusCode::from_u16(status).unwrap(), None);
            assert!(matches!(said, Publication::Refused { .. }), "{status}");
        }
        for status in [301_u16, 302, 307, 401, 403, 404, 408, 409, 410, 429, 500, 502, 503, 504] {
            let said = meaning(StatusCode::from_u16(status).unwrap(), Some(Duration::from_secs(7)));
            let Publication::Unavailable { after, .. } = said else { panic!("{status}: {said:?}") };
            assert_eq!(after, Some(Duration::from_secs(7)));
        }
    }

    #[test]
    fn an_attribute_is_encoded_as_cloud_events_asks() {
        assert_eq!(encoded("CASE-7"), "CASE-7");
        assert_eq!(encoded("Ü 100%\""), "%C3%9C%20100%25%22");
    }
}
