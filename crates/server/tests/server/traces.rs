//! Spans reach a collector over OTLP, with the operation's id, in the caller's trace.

use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo}; // tidy: allow(the name is hyper's)
use serde_json::json;

use crate::fixture::{Workdir, claim_of, until};
use crate::gateway_try::free_port;
use crate::wire::{Call, send};

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// A collector: everything that is exported to it, as bytes.
#[derive(Clone, Default)]
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Collector {
    fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let collector = self.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(collector.collect(listener));
        });
        address
    }

    async fn collect(self, listener: TcpListener) {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            let collector = self.clone();
            let service = service_fn(move |request| collector.clone().export(request));
            let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new()); // tidy: allow(the name is hyper's)
            tokio::spawn(serving.serve_connection(TokioIo::new(stream), service));
        }
    }

    async fn export(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>, Infallible> {
        assert_eq!(request.uri().path(), EXPORT);
        let sent = request.into_body().collect().await.unwrap().to_bytes();
        self.bytes.lock().unwrap().extend(&sent);
        let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), HeaderValue::from_static("0"))]);
        // An empty message, and the status after it.
        let body = Full::new(Bytes::from_static(&[0; 5])).with_trailers(std::future::ready(Some(Ok(trailers))));
        Ok(Response::builder().header("content-type", "application/grpc").body(body).unwrap())
    }

    fn has(&self, wanted: &[u8]) -> bool {
        self.bytes.lock().unwrap().windows(wanted.len()).any(|window| window == wanted)
    }
}

#[test]
fn a_span_carries_the_operation_and_belongs_to_the_callers_trace() {
    let collector = Collector::default();
    let otlp = format!("http://{}", collector.start());
    let environment = vec![("ONEFOLD_OTLP", otlp), ("OTEL_BSP_SCHEDULE_DELAY", "100".to_owned())];
    let dir = Workdir::with_environment(environment);
    let server = dir.serve(&[]);
    let claim = claim_of("notice.issue", "TRACED-7");
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let call = Call::post("/v1/claims", &claim).token(&server.token).header("traceparent", &parent);
    server.send(&call).ok();
    until("the span arrives", || collector.has(b"TRACED-7"));
    let trace: Vec<u8> = (0..16).map(|i| u8::from_str_radix(&TRACE[2 * i..2 * i + 2], 16).unwrap()).collect();
    assert!(collector.has(&trace), "the span is not in the caller's trace");
    assert!(collector.has(b"operation_id"));
}

/// An upstream that answers once, and hands over what it was asked.
fn asked_once() -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"}") {
            let mut chunk = [0; 4096];
            let read = stream.read(&mut chunk).unwrap();
            head.extend(&chunk[..read]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
        tell.send(String::from_utf8(head).unwrap()).unwrap();
    });
    (port, told)
}

#[test]
fn an_upstream_is_called_in_the_callers_trace() {
    let collector = Collector::default();
    let otlp = format!("http://{}", collector.start());
    let (upstream, told) = asked_once();
    let gateway = free_port();
    let dir = Workdir::with_config(&format!(
        "otlp = \"{otlp}\"\ngateway_listen = \"127.0.0.1:{gateway}\"\n[[route]]\nname = \"pay\"\n\
         match = \"POST /pay\"\nupstream = \"http://127.0.0.1:{upstream}\"\nclass = \"external-command\"\n\
         caller = \"anonymous\"\n"
    ));
    let mut server = dir.serve(&[]);
    let call = Call::post("/pay", &json!({ "amount": 1 }))
        .header("idempotency-key", "TRACED-KEY-8")
        .header("traceparent", &format!("00-{TRACE}-00f067aa0ba902b7-01"));
    send(SocketAddr::from(([127, 0, 0, 1], gateway)), &call).ok();
    let asked = told.recv().unwrap();
    let parent = asked.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap();
    assert!(parent.starts_with(&format!("00-{TRACE}-")), "{parent}");
    assert!(!parent.contains("00f067aa0ba902b7"), "the gateway's own span is the parent: {parent}");
    // The last spans leave before it ends.
    assert_eq!(server.stop(), Some(0));
    assert!(collector.has(b"TRACED-KEY-8") && collector.has(b"operation_id"));
}

#[test]
fn a_collector_that_is_not_there_costs_no_request() {
    let dir = Workdir::with_environment(vec![("ONEFOLD_OTLP", "http://127.0.0.1:1".to_owned())]);
    let server = dir.serve(&[]);
    server.get("/health").ok();
}
