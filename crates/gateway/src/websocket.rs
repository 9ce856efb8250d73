//! Connections that become web sockets: both sides are copied to each other.
//!
//! Nothing else is agreed to. HTTP inside an upgraded connection would pass every guard unseen.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode, Version, header};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use onefold_core::call::CallOutcome;

use super::forward::{Forward, ForwardFailure};
use super::{hop_by_hop, trailers};
use onefold_http::idempotent::{NoResponse, is_ours};
use onefold_http::listen::{Activity, ConnectionPermit};

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// A request that asks for a web socket.
#[derive(Clone, Copy)]
struct WebSocketRequested;

/// Marks a request that asks for a web socket, because the headers that do so end here.
pub(super) fn mark(request: &mut Request<Body>) {
    if asks(request) {
        request.extensions_mut().insert(WebSocketRequested);
    }
}

/// Whether a request was marked as asking for a web socket.
pub(super) fn wanted(request: &Request<Body>) -> bool {
    request.extensions().get::<WebSocketRequested>().is_some()
}

/// Beside whatever else it asks for. Only a GET of HTTP/1.1 can.
fn asks(request: &Request<Body>) -> bool {
    let names = |name: &HeaderName, wanted: &str| {
        hop_by_hop::tokens(request.headers(), name).any(|token| token.eq_ignore_ascii_case(wanted))
    };
    request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && names(&header::CONNECTION, "upgrade")
        && names(&header::UPGRADE, "websocket")
}

/// Sends on a request that asks for a web socket; where the upstream agrees, both connections become one.
pub(super) async fn pass(forward: &Forward, mut request: Request<Body>) -> Result<Response, ForwardFailure> {
    let client = hyper::upgrade::on(&mut request);
    let place = request.extensions().get::<ConnectionPermit>().cloned();
    let activity = request.extensions().get::<Arc<Activity>>().cloned();
    let headers = request.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, WEBSOCKET);
    let mut response = forward.deliver_upgrading(request).await?;
    let agreed = {
        let named: Vec<&str> = hop_by_hop::tokens(response.headers(), &header::UPGRADE).collect();
        matches!(named[..], [only] if only.eq_ignore_ascii_case("websocket"))
    };
    forward.clean(&mut response, &Method::GET);
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        if !agreed {
            let what = "the upstream agreed to a protocol that it was not asked for";
            return Err(ForwardFailure::Unanswered(NoResponse::lost(CallOutcome::Undecodable, what)));
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
async fn copy(
    client: OnUpgrade,
    upstream: OnUpgrade,
    place: Option<ConnectionPermit>,
    activity: Option<Arc<Activity>>,
) {
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
        Err(cause) => tracing::debug!(cause = %cause, "a protocol upgrade failed"),
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
