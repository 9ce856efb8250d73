//! A service that remembers what it was asked, a gateway before it, and clients.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Request, Response, StatusCode, Version};
use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor; // tidy: allow(the name is hyper's)
use onefold_core::port::BoxFuture;
use onefold_gateway::{Forward, Gateway, Pattern, Perform, RequestGuard, RouteEntry, Table, Upstream, Upstreams};
use onefold_http::client::Connect;
use onefold_http::listen::ConnectionLimits;
use onefold_http::listen::{ListenAt, Listener, ServerTls};
use onefold_http::{Anonymous, Caller, Identify};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const WITHIN: Duration = Duration::from_secs(5);

/// A request as a service saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) version: Version,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A service that remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Service {
    /// Answers everything with 200 and a few headers of its own.
    pub(crate) async fn start() -> Self {
        let (router, seen) = remembering();
        Self { url: serve(router).await, seen }
    }

    pub(crate) fn at(url: String, seen: Arc<Mutex<Vec<Seen>>>) -> Self {
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

pub(crate) fn remembering() -> (Router, Arc<Mutex<Vec<Seen>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let handle = move |request: Request<Body>| {
        let kept = Arc::clone(&kept);
        async move { answer(request, &kept).await }
    };
    (Router::new().fallback(handle), seen)
}

async fn answer(request: Request<Body>, kept: &Mutex<Vec<Seen>>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    let line = format!("{} {}", parts.method, parts.uri.path_and_query().unwrap());
    kept.lock().unwrap().push(Seen { line, headers: parts.headers, body, version: parts.version });
    if parts.uri.path() == "/moved" {
        return (StatusCode::FOUND, [("location", "http://127.0.0.1:1/elsewhere")]).into_response();
    }
    let own =
        [("x-own", "1"), ("keep-alive", "timeout=5"), ("proxy-authenticate", "Basic"), ("cache-control", "max-age=7")];
    (own, "hello").into_response()
}

/// Serves on a free port.
pub(crate) async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// A service that does with each connection what the test says.
pub(crate) async fn raw_service<F>(each: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(each(stream));
        }
    });
    url
}

/// Reads the head of a request or an answer.
pub(crate) async fn head(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte).await {
            Ok(1) => read.push(byte[0]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// The way to these addresses.
pub(crate) fn forward(urls: &[&str], connect: &Connect, within: Duration) -> Forward {
    let upstreams = urls.iter().map(|url| Upstream::parse(url).unwrap()).collect();
    Forward::new(Upstreams::new(upstreams).unwrap(), connect, within).unwrap()
}

/// A route `* /*` to this service, without a guard.
pub(crate) fn route(url: &str) -> RouteEntry {
    entry("all", "* /*", forward(&[url], &Connect::default(), WITHIN))
}

pub(crate) fn entry(name: &str, pattern: &str, forward: Forward) -> RouteEntry {
    RouteEntry {
        name: name.into(),
        pattern: Pattern::parse(pattern).unwrap(),
        forward: Arc::new(forward),
        identify: Arc::new(Anonymous),
        tenant_header: None,
        key_header: HeaderName::from_static("idempotency-key"),
        underscored_headers: Vec::new(),
        guard: None,
    }
}

/// The same route, but it says who calls instead of sending on.
pub(crate) fn telling(url: &str, identify: impl Identify) -> RouteEntry {
    RouteEntry { identify: Arc::new(identify), guard: Some(Arc::new(Telling)), ..route(url) }
}

struct Telling;

impl RequestGuard for Telling {
    fn handle(&self, request: Request<Body>, perform: Perform) -> BoxFuture<'_, Response<Body>> {
        let caller = match request.extensions().get::<Caller>() {
            Some(Caller::Known { subject, tenant }) => {
                format!("{subject}|{}", tenant.as_ref().map_or("-", |tenant| tenant.as_str()))
            }
            Some(Caller::Anonymous) | None => "anonymous".to_owned(),
        };
        Box::pin(async move {
            let mut response = perform(request).await.unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response());
            response.headers_mut().insert("x-caller", caller.parse().unwrap());
            response
        })
    }
}

/// A gateway that listens.
pub(crate) struct Gate {
    pub(crate) at: SocketAddr,
    pub(crate) gateway: Arc<Gateway>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Gate {
    pub(crate) async fn open(table: Table) -> Self {
        Self::with(table, None, ConnectionLimits::default()).await
    }

    pub(crate) async fn of(entry: RouteEntry) -> Self {
        Self::open(Table::new(vec![entry]).unwrap()).await
    }

    pub(crate) async fn with(table: Table, tls: Option<ServerTls>, limits: ConnectionLimits) -> Self {
        let any = ListenAt::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = Listener::bind(&any, "--gateway-listen", tls, limits).await.unwrap();
        let ListenAt::Tcp(at) = *listener.at() else { panic!("a port") };
        let (stop, stopped) = oneshot::channel();
        let gateway = Arc::new(Gateway::new(table));
        let stopped = async { drop(stopped.await) };
        let served = tokio::spawn(listener.serve(Arc::clone(&gateway).router(), stopped, WITHIN));
        Self { at, gateway, stop, served }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }

    /// Begins to drain; the handle ends with it.
    pub(crate) fn stop(self) -> JoinHandle<()> {
        self.stop.send(()).unwrap();
        self.served
    }

    /// Sends these bytes on a connection of their own and reads until it ends.
    pub(crate) async fn raw(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(WITHIN, stream.read_to_end(&mut answer)).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}

pub(crate) type Plain = Client<HttpConnector, Body>;

pub(crate) fn http1() -> Plain {
    Client::builder(TokioExecutor::new()).build_http() // tidy: allow(the name is hyper's)
}

pub(crate) fn http2() -> Plain {
    Client::builder(TokioExecutor::new()).http2_only(true).build_http() // tidy: allow(the name is hyper's)
}

pub(crate) async fn text<B>(response: Response<B>) -> String
where
    B: axum::body::HttpBody,
    B::Error: std::fmt::Debug,
{
    String::from_utf8_lossy(&response.into_body().collect().await.unwrap().to_bytes()).into_owned()
}

pub(crate) fn get(url: &str) -> axum::http::request::Builder {
    Request::get(url)
}

pub(crate) fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}
