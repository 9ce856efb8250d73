//! Bodies pass as they come, trailers with them, and a connection may become another protocol.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Request, Version};
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use onefold_http::client::{Connect, Protocol};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::fixture::{
    Gate, Service, WITHIN, entry, forward, get, head, http1, http2, raw_service, route, serve, telling, text,
};

/// A body that the test fills as it goes.
struct Pipe(mpsc::Receiver<Frame<Bytes>>);

impl HttpBody for Pipe {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|frame| frame.map(Ok))
    }
}

fn pipe() -> (mpsc::Sender<Frame<Bytes>>, Body) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, Body::new(Pipe(receiver)))
}

fn data(text: &'static str) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(text.as_bytes()))
}

/// A service that sends back what it gets, as it gets it.
async fn echo() -> String {
    serve(Router::new().fallback(|request: Request<Body>| async move { Response::new(request.into_body()) })).await
}

#[tokio::test]
async fn bodies_pass_both_ways_as_they_come() {
    let gate = Gate::of(route(&echo().await)).await;
    for client in [http1(), http2()] {
        let (sender, body) = pipe();
        let sent = client.request(Request::post(gate.url("/")).body(body).unwrap());
        let talk = async {
            let mut response = sent.await.unwrap();
            for word in ["one", "two", "three"] {
                sender.send(data(word)).await.unwrap();
                let frame = response.body_mut().frame().await.unwrap().unwrap();
                assert_eq!(frame.into_data().unwrap(), word);
            }
            drop(sender);
            assert_eq!(text(response).await, "");
        };
        tokio::time::timeout(WITHIN, talk).await.unwrap();
    }
}

#[tokio::test]
async fn trailers_pass_over_http2() {
    let url = serve(Router::new().fallback(|request: Request<Body>| async move {
        let sum = request.into_body().collect().await.unwrap().trailers().unwrap()["x-sum"].clone();
        let (sender, body) = pipe();
        tokio::spawn(async move {
            sender.send(data("done")).await.unwrap();
            sender.send(Frame::trailers(HeaderMap::from_iter([("x-sum".parse().unwrap(), sum)]))).await.unwrap();
        });
        Response::new(body)
    }))
    .await;
    let connect = Connect { protocol: Protocol::Http2, ..Connect::default() };
    let gate = Gate::of(entry("all", "* /*", forward(&[&url], &connect, WITHIN))).await;
    let (sender, body) = pipe();
    let request = Request::post(gate.url("/")).header("te", "trailers").body(body).unwrap();
    let filled = async move {
        sender.send(data("body")).await.unwrap();
        sender
            .send(Frame::trailers(HeaderMap::from_iter([("x-sum".parse().unwrap(), "42".parse().unwrap())])))
            .await
            .unwrap();
    };
    let client = http2();
    let (response, ()) = tokio::join!(client.request(request), filled);
    let collected = response.unwrap().into_body().collect().await.unwrap();
    assert_eq!(collected.trailers().unwrap()["x-sum"], "42");
}

#[tokio::test]
async fn both_sides_speak_http2_without_tls_where_that_is_said() {
    let service = Service::start().await;
    let connect = Connect { protocol: Protocol::Http2, ..Connect::default() };
    let gate = Gate::of(entry("all", "* /*", forward(&[&service.url], &connect, WITHIN))).await;
    let response = http2().request(get(&gate.url("/a")).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    let seen = service.only();
    assert_eq!((seen.version, seen.line.as_str()), (Version::HTTP_2, "GET /a"));
    let response = http1().request(get(&gate.url("/a")).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_11);
}

/// A service that agrees to another protocol and then says everything twice.
async fn doubling(heads: Arc<Mutex<Vec<String>>>) -> String {
    raw_service(move |mut stream| {
        let heads = Arc::clone(&heads);
        async move {
            let read = head(&mut stream).await;
            heads.lock().unwrap().push(read);
            let agreed = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: yes\r\n\r\n";
            stream.write_all(agreed.as_bytes()).await.unwrap();
            let mut word = [0; 4];
            while stream.read_exact(&mut word).await.is_ok() {
                stream.write_all(&[word, word].concat()).await.unwrap();
            }
        }
    })
    .await
}

const UPGRADE: &str = "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";

#[tokio::test]
async fn a_connection_may_become_a_web_socket() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let url = doubling(Arc::clone(&heads)).await;
    // Guarded or not: a GET without a key passes.
    for entry in [route(&url), telling(&url, onefold_http::Anonymous)] {
        let gate = Gate::of(entry).await;
        let mut stream = TcpStream::connect(gate.at).await.unwrap();
        stream.write_all(UPGRADE.as_bytes()).await.unwrap();
        let answer = tokio::time::timeout(WITHIN, head(&mut stream)).await.unwrap().to_lowercase();
        assert!(answer.starts_with("http/1.1 101") && answer.contains("sec-websocket-accept: yes"), "{answer}");
        assert!(answer.contains("connection: upgrade") && answer.contains("upgrade: websocket"), "{answer}");
        for word in [*b"ping", *b"pong"] {
            stream.write_all(&word).await.unwrap();
            let mut twice = [0; 8];
            tokio::time::timeout(WITHIN, stream.read_exact(&mut twice)).await.unwrap().unwrap();
            assert_eq!(twice, [word, word].concat()[..]);
        }
    }
    let heads = heads.lock().unwrap();
    assert!(heads[0].to_lowercase().contains("upgrade: websocket\r\n"), "{heads:?}");
}

#[tokio::test]
async fn a_guarded_request_cannot_slip_by_as_an_upgrade() {
    let service = Service::start().await;
    let gate = Gate::of(telling(&service.url, onefold_http::Anonymous)).await;
    let posted = UPGRADE.replace("GET", "POST").replace("keep-alive", "close");
    assert!(gate.raw(&posted).await.contains("x-caller: anonymous"));
    assert_eq!(service.only().header("upgrade"), None);
}

#[tokio::test]
async fn a_connection_becomes_nothing_but_a_web_socket() {
    for protocol in ["h2c", "HTTP/2.0", "TLS/1.2", "websocket2", "h2c, foo"] {
        let service = Service::start().await;
        let gate = Gate::of(route(&service.url)).await;
        let asked = format!(
            "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        );
        assert!(gate.raw(&asked).await.starts_with("HTTP/1.1 200"), "{protocol}");
        let seen = service.only();
        assert_eq!((seen.header("upgrade"), seen.header("http2-settings")), (None, None), "{protocol}");
    }
}

#[tokio::test]
async fn of_several_protocols_only_the_web_socket_is_asked_for() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let gate = Gate::of(route(&doubling(Arc::clone(&heads)).await)).await;
    let mut stream = TcpStream::connect(gate.at).await.unwrap();
    stream.write_all(UPGRADE.replace(": websocket", ": h2c, WebSocket").as_bytes()).await.unwrap();
    let answer = tokio::time::timeout(WITHIN, head(&mut stream)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    let sent = heads.lock().unwrap()[0].to_lowercase();
    assert!(sent.contains("upgrade: websocket\r\n") && !sent.contains("h2c"), "{sent}");
}

#[tokio::test]
async fn an_upstream_cannot_choose_another_protocol() {
    let url = raw_service(|mut stream| async move {
        head(&mut stream).await;
        let other = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n";
        stream.write_all(other.as_bytes()).await.unwrap();
    })
    .await;
    let gate = Gate::of(route(&url)).await;
    let answer = gate.raw(&UPGRADE.replace("keep-alive", "close")).await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
}
