//! A service that is not idempotent, and does what each request's script says.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt as _;
use tokio::sync::watch;

/// What the provider has seen and done.
#[derive(Clone, Default)]
pub(crate) struct Provider {
    seen: Arc<Mutex<Seen>>,
    gate: Arc<watch::Sender<bool>>,
}

#[derive(Default)]
struct Seen {
    calls: Vec<Call>,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Provider {
    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.seen.lock().unwrap().calls.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().calls.len()
    }

    /// Lets every call go on that waits.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }

    /// Waits until so many calls have acted.
    pub(crate) async fn acted(&self, calls: usize) {
        for _ in 0..6_000 {
            if self.count() >= calls {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("only {} of {calls} calls came", self.count());
    }

    /// What it is as a service.
    pub(crate) fn router(&self) -> Router {
        Router::new().fallback(act).with_state(self.clone())
    }

    /// Serves it on a port of its own.
    pub(crate) async fn serve(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = self.router();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }
}

/// `x-script: status=500, wait, bytes=10` and so on; unknown words fail the test.
fn script(headers: &HeaderMap) -> HashMap<String, String> {
    let text = headers.get("x-script").map_or("", |value| value.to_str().unwrap());
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            (name.to_owned(), value.to_owned())
        })
        .collect()
}

async fn act(State(provider): State<Provider>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let script = script(&parts.headers);
    let collected = body.collect().await;
    let Ok(collected) = collected else {
        // A request that breaks off half-way has done nothing here.
        return Response::builder().status(400).body(Body::empty()).unwrap();
    };
    let trailers = collected.trailers().cloned();
    let call =
        Call { path: parts.uri.to_string(), headers: parts.headers.clone(), body: collected.to_bytes(), trailers };
    let number = {
        let mut seen = provider.seen.lock().unwrap();
        seen.calls.push(call.clone());
        seen.calls.len()
    };
    if script.contains_key("wait") {
        let mut gate = provider.gate.subscribe();
        gate.wait_for(|open| *open).await.unwrap();
    }
    if let Some(millis) = script.get("sleep") {
        tokio::time::sleep(Duration::from_millis(millis.parse().unwrap())).await;
    }
    assert!(!script.contains_key("drop"), "acted, and drops the connection");
    answer(&script, number, &call)
}

fn answer(script: &HashMap<String, String>, number: usize, call: &Call) -> Response {
    let status: u16 = script.get("status").map_or(201, |status| status.parse().unwrap());
    let body = serde_json::json!({ "id": format!("PAY-{number}"), "got": call.body.len() }).to_string();
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    let headers = response.headers_mut().unwrap();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("location", HeaderValue::from_str(&format!("/payments/PAY-{number}")).unwrap());
    headers.insert("x-internal", HeaderValue::from_static("never stored"));
    headers.insert("set-cookie", HeaderValue::from_static("session=hush"));
    if let Some(effect) = script.get("effect") {
        headers.insert("onefold-effect", HeaderValue::from_str(effect).unwrap());
    }
    if script.contains_key("retry") {
        headers.insert("retry-after", HeaderValue::from_static("7"));
    }
    let body = match script {
        _ if script.contains_key("empty") => Body::empty(),
        _ if script.contains_key("bytes") => Body::from(vec![b'x'; script["bytes"].parse().unwrap()]),
        _ if script.contains_key("events") => {
            headers.insert("content-type", HeaderValue::from_static("text/event-stream"));
            Body::from("data: one\n\ndata: two\n\n")
        }
        _ if script.contains_key("breaks") => Body::new(Breaks(0)),
        _ if script.contains_key("trailers") => {
            headers.insert("trailer", HeaderValue::from_static("x-checksum"));
            let trailers =
                HeaderMap::from_iter([(HeaderName::from_static("x-checksum"), HeaderValue::from_static("77"))]);
            Body::new(Body::from(body).with_trailers(std::future::ready(Some(Ok(trailers)))))
        }
        _ => Body::from(body),
    };
    response.body(body).unwrap()
}

/// A body that ends half-way.
struct Breaks(u8);

impl http_body::Body for Breaks {
    type Data = Bytes;
    type Error = std::io::Error;
    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        self.0 += 1;
        std::task::Poll::Ready(Some(match self.0 {
            1 => Ok(http_body::Frame::data(Bytes::from_static(b"{\"id\":"))),
            _ => Err(std::io::ErrorKind::BrokenPipe.into()),
        }))
    }
}
