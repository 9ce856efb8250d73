//! Connections that become something else, such as a web socket: both sides are copied to each other.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode, Version, header};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;

use super::forward::{Forward, Lost};
use super::{forwarded, hop};

/// The place of a connection among those that may be open; kept for as long as anything uses the connection.
#[derive(Clone)]
pub(super) struct Place(#[expect(dead_code, reason = "held, not read")] pub(super) Arc<OwnedSemaphorePermit>);

/// The protocol that a request asks for. Only HTTP/1.1 requests can.
pub(super) fn wanted(request: &Request<Body>) -> Option<HeaderValue> {
    let headers = request.headers();
    let asks = hop::tokens(headers, &header::CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| asks && request.version() == Version::HTTP_11).cloned()
}

/// Sends on a request that asks for another protocol; where the upstream agrees, both connections become one.
pub(super) async fn pass(
    forward: &Forward,
    mut request: Request<Body>,
    protocol: HeaderValue,
) -> Result<Response, Lost> {
    let client = hyper::upgrade::on(&mut request);
    let place = request.extensions().get::<Place>().cloned();
    let headers = request.headers_mut();
    hop::strip(headers);
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocol);
    let mut response = forward.deliver_upgrading(request).await?;
    let agreed = response.headers().get(header::UPGRADE).cloned();
    hop::strip(response.headers_mut());
    let spoken = response.version();
    forwarded::via(response.headers_mut(), spoken);
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let upstream = hyper::upgrade::on(&mut response);
        tokio::spawn(copy(client, upstream, place));
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        if let Some(agreed) = agreed {
            response.headers_mut().insert(header::UPGRADE, agreed);
        }
        let (parts, _) = response.into_parts();
        return Ok(Response::from_parts(parts, Body::empty()));
    }
    Ok(response.map(Body::new))
}

async fn copy(client: OnUpgrade, upstream: OnUpgrade, place: Option<Place>) {
    let both: hyper::Result<(Upgraded, Upgraded)> = async { Ok((client.await?, upstream.await?)) }.await;
    match both {
        Ok((client, upstream)) => {
            let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
            // Either side may end it at any time.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
        }
        Err(cause) => tracing::debug!(cause = %cause, "an upgrade did not come about"),
    }
    drop(place);
}
