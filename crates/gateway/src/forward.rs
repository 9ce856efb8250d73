//! Sends a request on to an upstream, and says whether a byte of it left.

use std::error::Error as StdError;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Request, Version, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use onefold_core::Error;
use onefold_core::call::{CallOutcome, Sent};
use onefold_core::error::{DOWNSTREAM_TIMEOUT, REQUEST_BODY_INVALID, UPSTREAM_UNREACHABLE};
use onefold_runtime::{Attempt, trace};
use tokio::time::Instant;

use super::answer::{self, Switch};
use super::replayable_body::{ReplayableBody, ReturnSlot};
use super::upstream::{Reachable, Upstream, Upstreams};
use super::{forwarded, hop_by_hop, problem, trailers, websocket};
use onefold_http::ProblemResponse;
use onefold_http::client::{Connect, HttpClient, Protocol};
use onefold_http::idempotent::{ForwardResult, NoResponse, ONEFOLD_EFFECT, is_ours};

/// The way to one service. Redirects are never followed.
pub struct Forward {
    upstreams: Upstreams,
    web: HttpClient<ReplayableBody>,
    /// For connections that become something else: only HTTP/1.1 can.
    upgrading: HttpClient<ReplayableBody>,
    host: HostSent,
    /// How long the head of an answer may take.
    within: Duration,
    /// What the upstream knows us by, in place of what the client sent.
    credential: Option<(HeaderName, HeaderValue)>,
    /// Headers of an answer that somebody reads: with those that say what it is, they are the last to be dropped.
    read_headers: Vec<HeaderName>,
}

/// Which `Host` an upstream sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostSent {
    Upstreams,
    Clients,
}

impl Forward {
    /// The way to these upstreams; the head of an answer may take `within`.
    pub fn new(upstreams: Upstreams, connect: &Connect, within: Duration) -> onefold_core::Result<Self> {
        let upgrading = Connect { protocol: Protocol::Http1, ..connect.clone() };
        Ok(Self {
            upstreams,
            web: connect.client()?,
            upgrading: upgrading.client()?,
            host: HostSent::Upstreams,
            within,
            credential: None,
            read_headers: Vec::new(),
        })
    }

    /// The same, but upstreams see the `Host` that the client sent. For upstreams that speak HTTP/1.1.
    #[must_use]
    pub fn preserve_host(mut self) -> Self {
        self.host = HostSent::Clients;
        self.web = self.upgrading.clone();
        self
    }

    /// The same, with a header of our own in place of the client's.
    #[must_use]
    pub fn credential(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.credential = Some((name, value));
        self
    }

    /// The same, where these headers of an answer stay when it has more headers than pass.
    #[must_use]
    pub fn reading_headers(mut self, names: impl IntoIterator<Item = HeaderName>) -> Self {
        self.read_headers.extend(names);
        self
    }

    /// Sends a request on. An error says why no answer came and whether a byte of the request left; an upstream that
    /// cannot be reached is not an error as long as another one can.
    pub async fn send(&self, request: Request<Body>) -> ForwardResult {
        self.plain(request).await.map_err(ForwardFailure::into_unanswered)
    }

    /// Sends on a request that nothing guards, and makes a web socket of it where the gateway noted that; no answer becomes a problem.
    pub async fn pass(&self, request: Request<Body>) -> Response {
        let sent =
            if websocket::wanted(&request) { websocket::pass(self, request).await } else { self.plain(request).await };
        let mut response = sent.unwrap_or_else(ForwardFailure::into_problem);
        // Nobody here reads it, and it is not for clients.
        response.headers_mut().remove(ONEFOLD_EFFECT);
        response
    }

    async fn plain(&self, mut request: Request<Body>) -> Result<Response, ForwardFailure> {
        hop_by_hop::strip(request.headers_mut());
        let (version, method) = (request.version(), request.method().clone());
        let mut response = self.deliver(&self.web, request, Switch::Unasked).await?;
        self.clean(&mut response, &method);
        // The client's connection decides what it speaks.
        *response.version_mut() = version;
        Ok(response.map(|body| trailers::without(Body::new(body), is_ours)))
    }

    /// The head of an answer as a client gets it.
    pub(super) fn clean(&self, response: &mut Response<Incoming>, asked: &Method) {
        let spoken = response.version();
        answer::clean(response.headers_mut(), asked, &self.read_headers);
        forwarded::via(response.headers_mut(), spoken);
    }

    /// Sends on a request that asks for a web socket, without removing what asks for it.
    pub(super) async fn deliver_upgrading(&self, request: Request<Body>) -> Result<Response<Incoming>, ForwardFailure> {
        self.deliver(&self.upgrading, request, Switch::Asked).await
    }

    async fn deliver(
        &self,
        web: &HttpClient<ReplayableBody>,
        request: Request<Body>,
        switch: Switch,
    ) -> Result<Response<Incoming>, ForwardFailure> {
        let (mut parts, body) = request.into_parts();
        forwarded::via(&mut parts.headers, parts.version);
        let slot = ReturnSlot::new(body);
        let answered = self.turn(web, &parts, &slot, switch).await;
        answered.map_err(
            |unanswered| if slot.broke() { ForwardFailure::Broken } else { ForwardFailure::Unanswered(unanswered) },
        )
    }

    /// Tries one upstream after the other, for as long as nothing was sent.
    async fn turn(
        &self,
        web: &HttpClient<ReplayableBody>,
        parts: &Parts,
        slot: &ReturnSlot,
        switch: Switch,
    ) -> Result<Response<Incoming>, NoResponse> {
        let until = Instant::now() + self.within;
        let mut last = NoResponse::not_sent(CallOutcome::NoConnection, "no upstream could be reached");
        for at in self.upstreams.order() {
            let Some(upstream) = self.upstreams.get(at) else { continue };
            if parts.extensions.get::<Attempt>().is_some_and(|attempt| attempt.may_send().is_err()) {
                return Err(NoResponse::not_sent(
                    CallOutcome::Timeout,
                    "the deadline passed before an upstream was reached",
                ));
            }
            let Some(body) = slot.lend() else { break };
            let Some(head) = self.head(parts, upstream) else {
                return Err(NoResponse::not_sent(
                    CallOutcome::NoConnection,
                    "the request has no address at the upstream",
                ));
            };
            let mut request = Request::from_parts(head, body);
            let connection = capture_connection(&mut request);
            match tokio::time::timeout_at(until, web.request(request)).await {
                Ok(Ok(response)) => {
                    self.upstreams.reached(at, Reachable::Yes);
                    return sound(response, switch, &connection);
                }
                Ok(Err(cause)) => last = lost(&cause),
                Err(_) => last = late(&connection),
            }
            if last.sent == Sent::Something {
                return Err(last);
            }
            self.upstreams.reached(at, Reachable::No);
            tracing::warn!(upstream = %upstream.host().to_str().unwrap_or_default(), "an upstream cannot be reached");
            if Instant::now() >= until {
                break;
            }
        }
        Err(last)
    }

    /// The request's head as this upstream gets it.
    fn head(&self, parts: &Parts, upstream: &Upstream) -> Option<Parts> {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = parts.method.clone();
        head.uri = upstream.uri(&parts.uri)?;
        head.version = Version::HTTP_11;
        head.headers = parts.headers.clone();
        head.headers.remove(header::EXPECT);
        hop_by_hop::join_cookies(&mut head.headers);
        let host = match self.host {
            HostSent::Upstreams => upstream.host().clone(),
            HostSent::Clients => forwarded::host(parts)
                .and_then(|host| HeaderValue::from_str(&host).ok())
                .unwrap_or_else(|| upstream.host().clone()),
        };
        head.headers.insert(header::HOST, host);
        if let Some((name, value)) = &self.credential {
            hop_by_hop::remove_spellings(&mut head.headers, name);
            head.headers.insert(name.clone(), value.clone());
        }
        trace::pass_on(&mut |name, value| {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                head.headers.insert(name, value);
            }
        });
        Some(head)
    }
}

/// The answer, unless it contradicts itself: then nothing of it is believed, nor what follows it on its connection.
fn sound(
    response: Response<Incoming>,
    switch: Switch,
    connection: &CaptureConnection,
) -> Result<Response<Incoming>, NoResponse> {
    let Err(why) = answer::check(&response, switch) else { return Ok(response) };
    if let Some(connection) = connection.connection_metadata().as_ref() {
        connection.poison();
    }
    tracing::warn!(why, "an upstream's answer was refused");
    Err(NoResponse::lost(CallOutcome::Undecodable, why))
}

/// Why no answer came. Only a connection that was never made proves that nothing was sent.
fn lost(cause: &legacy::Error) -> NoResponse {
    if cause.is_connect() {
        return NoResponse::not_sent(CallOutcome::NoConnection, "no connection to the upstream could be made");
    }
    let inner = cause.source().and_then(|source| source.downcast_ref::<hyper::Error>());
    if inner.is_some_and(hyper::Error::is_parse) {
        return NoResponse::lost(CallOutcome::Undecodable, "the upstream's answer cannot be read");
    }
    NoResponse::lost(CallOutcome::Reset, "the connection to the upstream ended before its answer")
}

/// Why no answer came in time. A request that got no connection was not sent.
fn late(connection: &CaptureConnection) -> NoResponse {
    if connection.connection_metadata().is_none() {
        return NoResponse::not_sent(CallOutcome::NoConnection, "no connection to the upstream was made in time");
    }
    NoResponse::lost(CallOutcome::Timeout, "the upstream did not answer in time")
}

/// Why there is no answer.
pub(super) enum ForwardFailure {
    /// The client's own body was malformed, or ended too early.
    Broken,
    Unanswered(NoResponse),
}

impl ForwardFailure {
    fn into_unanswered(self) -> NoResponse {
        match self {
            Self::Broken => NoResponse::lost(CallOutcome::Undecodable, "the request's body ended early").by_us(),
            Self::Unanswered(unanswered) => unanswered,
        }
    }

    /// What a client gets where nothing guards the request.
    fn into_problem(self) -> Response {
        let Self::Unanswered(unanswered) = self else {
            return problem(Error::new(REQUEST_BODY_INVALID, "the body is malformed or did not arrive whole"));
        };
        let error = |code| Error::new(code, unanswered.detail);
        match (unanswered.sent, unanswered.happened) {
            (Sent::Nothing, _) => problem(error(UPSTREAM_UNREACHABLE)),
            (Sent::Something, CallOutcome::Timeout) => problem(error(DOWNSTREAM_TIMEOUT)),
            (Sent::Something, _) => ProblemResponse::from(error(DOWNSTREAM_TIMEOUT)).status(502).into_response(),
        }
    }
}
