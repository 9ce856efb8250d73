//! A service with one durable step: it posts what it was asked for to the upstream, and answers what that answered.
//!
//! `onefold-bench-restate PORT UPSTREAM`, as `bench/restate/service.mjs` does it with the Node SDK.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use restate_sdk::prelude::*;
use serde_json::Value;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that the server may have before they are accepted.
const BACKLOG: u32 = 1024;

/// The service, with connections to the upstream that are kept.
struct Pay {
    client: Client<HttpConnector, Full<Bytes>>,
    upstream: Uri,
}

#[service(name = "pay")]
impl Pay {
    #[handler(name = "pay")]
    async fn pay(&self, context: Context<'_>, order: Json<Value>) -> Result<Json<Value>, HandlerError> {
        let step = context.run(|| async move { Ok(Json(self.post(&order.into_inner()).await?)) });
        Ok(step.name("step").await?)
    }
}

impl Pay {
    fn new(upstream: Uri) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { client: Client::builder(TokioExecutor::new()).build(connector), upstream }
    }

    async fn post(&self, order: &Value) -> Result<Value, HandlerError> {
        let mut request = Request::post(self.upstream.clone()).body(Full::from(order.to_string()))?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let answer = self.client.request(request).await?.into_body().collect().await?.to_bytes();
        Ok(serde_json::from_slice(&answer)?)
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, upstream] = args.as_slice() else { panic!("onefold-bench-restate PORT UPSTREAM") };
    let address = SocketAddr::from(([127, 0, 0, 1], port.parse().expect("a port")));
    let service = Pay::new(upstream.parse().expect("an address"));
    let listener = listen(address).expect("a free port");
    println!("ready");
    HttpServer::new(Endpoint::builder().bind(service).build()).serve(listener).await;
}

/// The SDK leaves its sockets as they are; without delay they are as quick as those of the other sides.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // What is accepted has the options of what listens.
    socket.set_nodelay(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
