//! Requests to a gateway, a connection each; some of them are cut.

use std::time::{Duration, Instant};

use axum::http::{HeaderName, HeaderValue, Method, Request, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use onefold_core::error::REQUEST_INVALID;
use onefold_core::{Error, Result};
use onefold_http::idempotent::{IDEMPOTENT_REPLAYED, ONEFOLD_OUTCOME};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long an answer may take: longer than a gateway lets anyone wait.
const ANSWER_WITHIN: Duration = Duration::from_mins(2);

/// A gateway over TCP.
pub(super) struct Gateway {
    authority: String,
}

/// What is sent again and again.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) key_header: HeaderName,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenAnswer {
    pub(super) status: u16,
    pub(super) replayed: bool,
    /// It says itself that its outcome is unknown.
    pub(super) unknown: bool,
    /// The code of a problem.
    pub(super) code: Option<String>,
    /// A stream of events, of which only the head was read.
    pub(super) events: bool,
    pub(super) body: Bytes,
    pub(super) took: Duration,
}

/// When a request was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// No byte of an answer had come.
    BeforeTheAnswer,
    /// An answer was there, and was not read.
    AfterTheAnswer,
    /// It could not be sent.
    NotSent,
}

impl Gateway {
    pub(super) fn at(url: &str) -> Result<Self> {
        let authority = url.parse().ok().filter(|uri: &Uri| uri.scheme_str() == Some("http")).and_then(|uri| {
            let port = uri.port_u16().unwrap_or(80);
            uri.host().map(|host| format!("{host}:{port}"))
        });
        let authority = authority.ok_or_else(|| {
            Error::new(REQUEST_INVALID, format!("{url:?} is not the address of a gateway"))
                .hint("write http://127.0.0.1:7080; a gateway with TLS is not tried from here")
        })?;
        Ok(Self { authority })
    }

    pub(super) fn address(&self) -> &str {
        &self.authority
    }

    /// Whether somebody listens.
    pub(super) async fn reach(&self) -> std::io::Result<()> {
        TcpStream::connect(&self.authority).await.map(drop)
    }

    /// Sends and waits for the answer; none if there was none.
    pub(super) async fn send(&self, order: &Order, key: &str) -> Option<SeenAnswer> {
        tokio::time::timeout(ANSWER_WITHIN, self.exchange(order, key)).await.ok().flatten()
    }

    async fn exchange(&self, order: &Order, key: &str) -> Option<SeenAnswer> {
        let began = Instant::now();
        let stream = TcpStream::connect(&self.authority).await.ok()?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
        let driving = tokio::spawn(connection);
        let request = self.head(order, key).body(Full::new(order.body.clone())).ok()?;
        let answer = sender.send_request(request).await.ok()?;
        let status = answer.status().as_u16();
        let is = |name: HeaderName, value: &str| answer.headers().get(name).is_some_and(|found| found == value);
        let (replayed, unknown) = (is(IDEMPOTENT_REPLAYED, "true"), is(ONEFOLD_OUTCOME, "unknown"));
        let media = answer.headers().get("content-type").map(|value| value.as_bytes().to_vec()).unwrap_or_default();
        let (problem, events) =
            (media.starts_with(b"application/problem+json"), media.starts_with(b"text/event-stream"));
        // Events end when their sender likes.
        let body = if events {
            Bytes::new()
        } else {
            Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await.ok()?.to_bytes()
        };
        driving.abort();
        let code = problem.then(|| serde_json::from_slice::<serde_json::Value>(&body).ok()).flatten();
        let code = code.and_then(|problem| problem["code"].as_str().map(str::to_owned));
        Some(SeenAnswer { status, replayed, unknown, code, events, body, took: began.elapsed() })
    }

    /// Sends all of it and hangs up: after `within`, or when the first byte of an answer is there.
    pub(super) async fn cut(&self, order: &Order, key: &str, within: Duration) -> Cut {
        self.sent_and_cut(order, key, within).await.unwrap_or(Cut::NotSent)
    }

    async fn sent_and_cut(&self, order: &Order, key: &str, within: Duration) -> std::io::Result<Cut> {
        let Ok(request) = self.head(order, key).body(()) else { return Ok(Cut::NotSent) };
        let mut text = format!("{} {} HTTP/1.1\r\n", order.method, order.path).into_bytes();
        for (name, value) in request.headers() {
            text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        text.extend(format!("content-length: {}\r\n\r\n", order.body.len()).as_bytes());
        text.extend(&order.body);
        let mut stream = TcpStream::connect(&self.authority).await?;
        stream.write_all(&text).await?;
        stream.flush().await?;
        let readable = tokio::time::timeout(within, stream.readable()).await;
        let answered =
            readable.is_ok_and(|ready| ready.is_ok()) && stream.try_read(&mut [0]).is_ok_and(|read| read > 0);
        Ok(if answered { Cut::AfterTheAnswer } else { Cut::BeforeTheAnswer })
    }

    fn head(&self, order: &Order, key: &str) -> axum::http::request::Builder {
        let request = Request::builder()
            .method(order.method.clone())
            .uri(&order.path)
            .header("host", &self.authority)
            .header(&order.key_header, key);
        let typed = order.headers.iter().any(|(name, _)| name == "content-type");
        let request = if typed { request } else { request.header("content-type", "application/json") };
        order.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
    }
}
