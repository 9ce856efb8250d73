//! Connections that become web sockets: both sides are copied to each other.
//!
//! Nothing else is agreed to. HTTP inside an upgraded connection would pass every guard unseen.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode, Version, header};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use onefold_core::call::Happened;
use tokio::sync::OwnedSemaphorePermit;

use super::forward::{Forward, Lost};
use super::{hop, trailers};
use crate::connection::Activity;
use crate::idempotent::{Unanswered, is_ours};

/// The place of a connection among those that may be open; kept for as long as anything uses the connection.
#[derive(Clone)]
pub(super) struct Place(#[expect(dead_code, reason = "held, not read")] pub(super) Arc<OwnedSemaphorePermit>);

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// A request that asks for a web socket.
#[derive(Clone, Copy)]
struct Wanted;

/// Notes whether a request asks for a web socket, because the headers that do so end here.
pub(super) fn note(request: &mut Request<Body>) {
    if asks(request) {
        request.extensions_mut().insert(Wanted);
    }
}

/// Whether a request was noted to ask for a web socket.
pub(super) fn wanted(request: &Request<Body>) -> bool {
    request.extensions().get::<Wanted>().is_some()
}

/// Beside whatever else it asks for. Only a GET of HTTP/1.1 can.
fn asks(request: &Request<Body>) -> bool {
    let names = |name: &HeaderName, wanted: &str| {
        hop::tokens(request.headers(), name).any(|token| token.eq_ignore_ascii_case(wanted))
    };
    request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && names(&header::CONNECTION, "upgrade")
        && names(&header::UPGRADE, "websocket")
}

/// Sends on a request that asks for a web socket; where the upstream agrees, both connections become one.
pub(super) async fn pass(forward: &Forward, mut request: Request<Body>) -> Result<Response, Lost> {
    let client = hyper::upgrade::on(&mut request);
    let place = request.extensions().get::<Place>().cloned();
    let activity = request.extensions().get::<Arc<Activity>>().cloned();
    let headers = request.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, WEBSOCKET);
    let mut response = forward.deliver_upgrading(request).await?;
    let agreed = {
        let named: Vec<&str> = hop::tokens(response.headers(), &header::UPGRADE).collect();
        matches!(named[..], [only] if only.eq_ignore_ascii_case("websocket"))
    };
    forward.clean(&mut response, &Method::GET);
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        if !agreed {
            let what = "the upstream agreed to a protocol that it was not asked for";
            return Err(Lost::Unanswered(Unanswered::lost(Happened::Undecodable, what)));
        }
        let upstream = hyper::upgrade::on(&mut response);
        tokio::spawn(copy(client, upstream, place, activity));
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        response.headers_mut().insert(header::UPGRADE, WEBSOCKET);
        let (parts, _) = response.into_parts();
        return Ok(Response::from_parts(parts, Body::empty()));
    }
    Ok(response.map(|body| trailers::without(Body::new(body), is_ours)))
}

/// Copies until either side ends, nothing has passed for too long, or the connection has been open long enough.
async fn copy(client: OnUpgrade, upstream: OnUpgrade, place: Option<Place>, activity: Option<Arc<Activity>>) {
    let both: hyper::Result<(Upgraded, Upgraded)> = async { Ok((client.await?, upstream.await?)) }.await;
    match both {
        Ok((client, upstream)) => {
            let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
            tokio::select! {
                // Either side may end it at any time.
                _ = tokio::io::copy_bidirectional(&mut client, &mut upstream) => {}
                () = over(activity) => tracing::debug!("a web socket was ended"),
            }
        }
        Err(cause) => tracing::debug!(cause = %cause, "an upgrade did not come about"),
    }
    drop(place);
}

async fn over(activity: Option<Arc<Activity>>) {
    let Some(activity) = activity else { return std::future::pending().await };
    tokio::select! {
        () = activity.silent() => {}
        () = tokio::time::sleep_until(activity.ends_at()) => {}
    }
}
