//! A service that is not idempotent, and does what each request's script says.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{delete, get};
use axum::{Json, Router};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
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
    voided: Vec<String>,
    /// The credentials that questions came with.
    questions: Vec<Option<HeaderValue>>,
    /// By key, where it follows the `Idempotency-Key` draft itself: the number of the effect, and whether it has ended.
    drafted: HashMap<String, (usize, bool)>,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Call {
    /// The key that it came with.
    pub(crate) fn key(&self) -> Option<&str> {
        self.headers.get("idempotency-key").map(|value| value.to_str().unwrap())
    }
}

impl Provider {
    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.seen.lock().unwrap().calls.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().calls.len()
    }

    /// The number of the call that acted under this key.
    fn done(&self, key: &str) -> Option<usize> {
        let acted = |call: &Call| call.key() == Some(key) && !script(&call.headers).contains_key("unacted");
        self.calls().iter().position(acted).map(|at| at + 1)
    }

    /// The keys that it refuses.
    pub(crate) fn voided(&self) -> Vec<String> {
        self.seen.lock().unwrap().voided.clone()
    }

    /// The credentials that questions came with.
    pub(crate) fn questions(&self) -> Vec<Option<HeaderValue>> {
        self.seen.lock().unwrap().questions.clone()
    }

    /// What it did under keys that it knows itself.
    pub(crate) fn effects(&self) -> usize {
        self.seen.lock().unwrap().drafted.len()
    }

    /// Performs a key once, as the draft says: 409 while it is in flight, the same answer afterwards. Goes on when the
    /// caller has gone.
    async fn by_the_draft(&self, call: Call) -> Response {
        let key = call.key().unwrap().to_owned();
        let known = {
            let mut seen = self.seen.lock().unwrap();
            let (known, number) = (seen.drafted.get(&key).copied(), seen.drafted.len() + 1);
            if known.is_none() {
                seen.drafted.insert(key.clone(), (number, false));
            }
            known
        };
        match known {
            Some((number, true)) => answer(&HashMap::new(), number, &call),
            Some((_, false)) => {
                let script = HashMap::from([("status".to_owned(), "409".to_owned())]);
                answer(&script, 0, &call)
            }
            None => {
                let provider = self.clone();
                let working = tokio::spawn(async move {
                    provider.gate.subscribe().wait_for(|open| *open).await.unwrap();
                    let mut seen = provider.seen.lock().unwrap();
                    let drafted = seen.drafted.get_mut(&key).unwrap();
                    drafted.1 = true;
                    answer(&HashMap::new(), drafted.0, &call)
                });
                working.await.unwrap()
            }
        }
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
        Router::new()
            .route("/lookup/{key}", get(look))
            .route("/void/{key}", delete(void))
            .fallback(act)
            .with_state(self.clone())
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

/// What it did under a key.
async fn look(State(provider): State<Provider>, Path(key): Path<String>, headers: HeaderMap) -> Json<Value> {
    provider.seen.lock().unwrap().questions.push(headers.get("authorization").cloned());
    Json(
        json!({ "items": provider.done(&key).map(|number| json!({ "id": format!("PAY-{number}"), "state": "paid" })) }),
    )
}

/// Refuses a key from now on, unless it is done.
async fn void(State(provider): State<Provider>, Path(key): Path<String>) -> (StatusCode, Json<Value>) {
    if let Some(number) = provider.done(&key) {
        return (StatusCode::CONFLICT, Json(json!({ "id": format!("PAY-{number}") })));
    }
    provider.seen.lock().unwrap().voided.push(key);
    (StatusCode::OK, Json(json!({})))
}

/// `x-script: status=500, wait, bytes=10` and so on.
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
    let call = Call { headers: parts.headers.clone(), body: collected.to_bytes(), trailers };
    let number = {
        let mut seen = provider.seen.lock().unwrap();
        seen.calls.push(call.clone());
        seen.calls.len()
    };
    if script.contains_key("draft") {
        return provider.by_the_draft(call).await;
    }
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
        _ if script.contains_key("breaks") => {
            let half = http_body::Frame::data(Bytes::from_static(b"{\"id\":"));
            Body::new(Frames([Ok(half), Err(std::io::ErrorKind::BrokenPipe.into())].into()))
        }
        _ if script.contains_key("trailers") => {
            headers.insert("trailer", HeaderValue::from_static("x-checksum"));
            let trailers =
                HeaderMap::from_iter([(HeaderName::from_static("x-checksum"), HeaderValue::from_static("77"))]);
            // Without a length: HTTP/1.1 sends trailers behind chunks only.
            let frames = [http_body::Frame::data(body.into()), http_body::Frame::trailers(trailers)];
            Body::new(Frames(frames.map(Ok).into()))
        }
        _ => Body::from(body),
    };
    response.body(body).unwrap()
}

/// A body, frame by frame.
struct Frames(std::collections::VecDeque<Result<http_body::Frame<Bytes>, std::io::Error>>);

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = std::io::Error;
    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        std::task::Poll::Ready(self.0.pop_front())
    }
}
