//! Routes, limits, exchange while it serves, and the end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use onefold_gateway::{Gateway, Lookalikes, Table};
use onefold_http::client::Connect;
use onefold_http::listen::ConnectionLimits;
use onefold_http::listen::{ListenAt, Listener};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;

use crate::fixture::{Gate, Service, WITHIN, entry, forward, get, http1, route, serve, text};

async fn status(gate: &Gate, method: &str, path: &str) -> StatusCode {
    let request = Request::builder().method(method).uri(gate.url(path)).body(Body::empty()).unwrap();
    http1().request(request).await.unwrap().status()
}

#[tokio::test]
async fn the_first_route_that_fits_gets_a_request_and_the_others_none() {
    let (pay, files, rest) = (Service::start().await, Service::start().await, Service::start().await);
    let way = |service: &Service| forward(&[&service.url], &Connect::default(), WITHIN);
    let routes =
        || vec![entry("pay", "POST /payments/{id}", way(&pay)), entry("files", "GET|HEAD /payments/*", way(&files))];
    let gate = Gate::open(Table::new(routes()).unwrap()).await;
    assert_eq!(status(&gate, "POST", "/payments/7").await, StatusCode::OK);
    assert_eq!(status(&gate, "POST", "/p%61yments/7/").await, StatusCode::OK);
    assert_eq!(status(&gate, "GET", "/payments/7/8").await, StatusCode::OK);
    assert_eq!(status(&gate, "DELETE", "/payments/7").await, StatusCode::METHOD_NOT_ALLOWED);
    let refused = gate.raw("DELETE /payments/7 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(refused.contains("allow: GET, HEAD, POST\r\n"), "{refused}");
    assert_eq!((pay.seen().len(), files.seen().len()), (2, 1));
    let open = Gate::open(Table::new(routes()).unwrap().otherwise(Arc::new(way(&rest)), Lookalikes::Refuse)).await;
    assert_eq!(status(&open, "DELETE", "/payments/7").await, StatusCode::OK);
    assert_eq!(rest.only().line, "DELETE /payments/7");
    let response = http1().request(get(&gate.url("/none")).body(Body::empty()).unwrap()).await.unwrap();
    assert!(text(response).await.contains("ROUTE_NOT_FOUND"));
}

#[tokio::test]
async fn names_are_given_once() {
    let way = || forward(&["http://127.0.0.1:1"], &Connect::default(), WITHIN);
    assert!(Table::new(vec![entry("a", "POST /a", way()), entry("a", "POST /b", way())]).is_err());
}

/// A service that answers when it is told to.
async fn slow(go: Arc<Notify>, arrived: Arc<Notify>) -> String {
    serve(Router::new().fallback(move || {
        let (go, arrived) = (Arc::clone(&go), Arc::clone(&arrived));
        async move {
            arrived.notify_one();
            go.notified().await;
            "late"
        }
    }))
    .await
}

#[tokio::test]
async fn requests_in_flight_end_before_the_gateway_does() {
    let (go, arrived) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let gate = Gate::of(route(&slow(Arc::clone(&go), Arc::clone(&arrived)).await)).await;
    let (at, url) = (gate.at, gate.url("/"));
    let asked =
        tokio::spawn(async move { text(http1().request(get(&url).body(Body::empty()).unwrap()).await.unwrap()).await });
    arrived.notified().await;
    let ended = gate.stop();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(TcpStream::connect(at).await.is_err() && !ended.is_finished());
    go.notify_one();
    assert_eq!(asked.await.unwrap(), "late");
    tokio::time::timeout(WITHIN, ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn requests_in_flight_keep_their_routes() {
    let (go, arrived, service) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Service::start().await);
    let gate = Gate::of(route(&slow(Arc::clone(&go), Arc::clone(&arrived)).await)).await;
    let url = gate.url("/");
    let asked = tokio::spawn({
        let url = url.clone();
        async move { text(http1().request(get(&url).body(Body::empty()).unwrap()).await.unwrap()).await }
    });
    arrived.notified().await;
    gate.gateway.exchange(Table::new(vec![route(&service.url)]).unwrap());
    let next = http1().request(get(&url).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(text(next).await, "hello");
    go.notify_one();
    assert_eq!(asked.await.unwrap(), "late");
}

#[tokio::test]
async fn a_head_that_is_too_large_or_too_slow_is_not_waited_for() {
    let service = Service::start().await;
    let limits = ConnectionLimits {
        headers_within: Duration::from_millis(200),
        headers_bytes_max: 8192,
        ..ConnectionLimits::default()
    };
    let gate = Gate::with(Table::new(vec![route(&service.url)]).unwrap(), None, limits).await;
    let large = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Large: {}\r\n\r\n", "x".repeat(20_000));
    assert!(gate.raw(&large).await.starts_with("HTTP/1.1 431"));
    let began = std::time::Instant::now();
    gate.raw("GET / HTTP/1.1\r\nHost: x\r\n").await;
    assert!(began.elapsed() < WITHIN);
    assert_eq!(service.seen().len(), 0);
}

#[tokio::test]
async fn a_connection_that_says_nothing_gives_its_place_back() {
    let service = Service::start().await;
    let limits = ConnectionLimits {
        headers_within: Duration::from_millis(200),
        connections_max: 1,
        ..ConnectionLimits::default()
    };
    let gate = Gate::with(Table::new(vec![route(&service.url)]).unwrap(), None, limits).await;
    for sent in ["", "PRI * HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r"] {
        let mut silent = TcpStream::connect(gate.at).await.unwrap();
        silent.write_all(sent.as_bytes()).await.unwrap();
        let answer = gate.raw("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{sent:?}: {answer}");
        let ended = tokio::time::timeout(WITHIN, silent.read_to_end(&mut Vec::new())).await;
        assert!(ended.is_ok(), "{sent:?} is closed by the server");
    }
}

#[tokio::test]
async fn more_connections_than_it_takes_wait() {
    let service = Service::start().await;
    let limits = ConnectionLimits { connections_max: 1, ..ConnectionLimits::default() };
    let gate = Gate::with(Table::new(vec![route(&service.url)]).unwrap(), None, limits).await;
    let mut first = TcpStream::connect(gate.at).await.unwrap();
    first.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut byte = [0];
    first.read_exact(&mut byte).await.unwrap();
    let mut second = TcpStream::connect(gate.at).await.unwrap();
    second.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(200), second.read_exact(&mut byte)).await;
    assert!(waited.is_err(), "the second connection waits");
    drop(first);
    tokio::time::timeout(WITHIN, second.read_exact(&mut byte)).await.unwrap().unwrap();
}

#[tokio::test]
async fn it_listens_on_a_unix_socket_and_leaves_none_behind() {
    let (folder, service) = (tempfile::tempdir().unwrap(), Service::start().await);
    let path = folder.path().join("gateway.sock");
    // A socket that a killed process left is in nobody's way.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = Listener::bind(&ListenAt::Unix(path.clone()), "--gateway-listen", None, ConnectionLimits::default())
        .await
        .unwrap();
    assert!(
        Listener::bind(&ListenAt::Unix(path.clone()), "--gateway-listen", None, ConnectionLimits::default())
            .await
            .is_err()
    );
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let gateway = Arc::new(Gateway::new(Table::new(vec![route(&service.url)]).unwrap()));
    let served = tokio::spawn(listener.serve(gateway.router(), async { drop(stopped.await) }, WITHIN));
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(service.only().header("x-forwarded-for"), None);
    stop.send(()).unwrap();
    served.await.unwrap();
    assert!(!path.exists());
}
