//! A caller: real sockets, HTTP/1.1 or HTTP/2.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, Version};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor; // tidy: allow(the name is hyper's)
use serde_json::Value;

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|cause| panic!("{cause}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status and code of a problem.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        (self.status.as_u16(), self.json()["code"].as_str().unwrap().to_owned())
    }

    pub(crate) fn replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

/// One request to be sent.
pub(crate) struct Call {
    to: SocketAddr,
    request: axum::http::request::Builder,
    body: Body,
    h2: bool,
}

impl Call {
    /// A payment, unless it is changed.
    pub(crate) fn new(to: SocketAddr, key: &str) -> Self {
        Self::plain(to, Method::POST, "/payments").header("idempotency-key", key)
    }

    pub(crate) fn plain(to: SocketAddr, method: Method, path: &str) -> Self {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{to}{path}"))
            .header("content-type", "application/json")
            .header("authorization", "alice");
        Self { to, request, body: Body::from("{\"amount\":7}"), h2: false }
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.request = self.request.header(name, value.as_ref());
        self
    }

    /// The same without a content type.
    pub(crate) fn untyped(mut self) -> Self {
        self.request.headers_mut().unwrap().remove("content-type");
        self
    }

    /// The same by another user; nobody where it is empty.
    pub(crate) fn user(mut self, name: &str) -> Self {
        let headers = self.request.headers_mut().unwrap();
        headers.remove("authorization");
        if !name.is_empty() {
            headers.insert("authorization", name.parse().unwrap());
        }
        self
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        self.request = self.request.uri(format!("http://{}{path}", self.to));
        self
    }

    pub(crate) fn script(self, script: &str) -> Self {
        self.header("x-script", script)
    }

    pub(crate) fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn http2(mut self) -> Self {
        self.h2 = true;
        self
    }

    pub(crate) async fn send(self) -> Answer {
        let client: Client<HttpConnector, Body> =
            Client::builder(TokioExecutor::new()).http2_only(self.h2).build_http(); // tidy: allow(the name is hyper's)
        let sending = client.request(self.request.body(self.body).unwrap());
        let response = tokio::time::timeout(Duration::from_mins(2), sending).await.expect("an answer").unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap();
        let trailers = body.trailers().cloned();
        let (status, version, headers) = (parts.status, parts.version, parts.headers);
        Answer { status, version, headers, body: body.to_bytes(), trailers }
    }

    /// Sends it and goes away once `gone` has happened, answer or not.
    pub(crate) async fn abandon(self, gone: impl Future<Output = ()>) {
        tokio::select! {
            _ = self.send() => {}
            () = gone => {}
        }
    }
}
