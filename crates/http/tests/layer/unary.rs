//! Unary gRPC calls through a real client and a real server.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onefold_core::port::BoxFuture;
use onefold_http::idempotent::{Idempotent as _, Route};
use onefold_http::{Caller, ProblemResponse};
use onefold_runtime::{Ledger, Settings, SystemClock, SystemRandom};
use onefold_sqlite::{Sqlite, SqliteOptions};
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Service, http};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt as _;

#[derive(Clone, PartialEq, prost::Message)]
struct Text {
    #[prost(string, tag = "1")]
    text: String,
}

/// A service written as generated code would be.
#[derive(Clone, Default)]
struct Payments {
    calls: Arc<AtomicUsize>,
}

impl NamedService for Payments {
    const NAME: &'static str = "onefold.test.Payments";
}

impl UnaryService<Text> for Payments {
    type Response = Text;
    type Future = BoxFuture<'static, Result<Response<Text>, Status>>;

    fn call(&mut self, request: Request<Text>) -> Self::Future {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Box::pin(async move {
            match request.into_inner().text.as_str() {
                "lost" => Err(Status::unavailable("gone")),
                "refused" => Err(Status::invalid_argument("no")),
                "limited" => Err(Status::resource_exhausted("later")),
                "slow" => {
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    Ok(Response::new(Text { text: format!("PAY-{number}") }))
                }
                _ => Ok(Response::new(Text { text: format!("PAY-{number}") })),
            }
        })
    }
}

impl<B> Service<http::Request<B>> for Payments
where
    B: http_body::Body + Send + 'static,
    B::Error: Into<tonic::codegen::StdError> + Send,
    B::Data: Send,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let codec: ProstCodec<Text, Text> = ProstCodec::default();
            Ok(tonic::server::Grpc::new(codec).unary(service, request).await)
        })
    }
}

struct Served {
    at: SocketAddr,
    payments: Payments,
    _folder: tempfile::TempDir,
}

async fn served() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()));
    let store = Sqlite::open(folder.path().join("onefold.db"), options).await.unwrap();
    let ledger = Ledger::open(store, Settings::default()).unwrap();
    let route = Route::external_command("pay").caller(|_| Ok::<_, ProblemResponse>(Caller::known("alice")));
    let layer = ledger.idempotent(route.wait(Duration::ZERO)).unwrap();
    let payments = Payments::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let service = payments.clone();
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    tokio::spawn(async move {
        Server::builder().layer(layer).add_service(service).serve_with_incoming(incoming).await.unwrap();
    });
    Served { at, payments, _folder: folder }
}

impl Served {
    async fn pay(&self, key: &str, text: &str) -> Result<Response<Text>, Status> {
        let channel = Channel::from_shared(format!("http://{}", self.at)).unwrap().connect().await.unwrap();
        let mut client = tonic::client::Grpc::new(channel);
        client.ready().await.unwrap();
        let mut request = Request::new(Text { text: text.to_owned() });
        if !key.is_empty() {
            request.metadata_mut().insert("idempotency-key", key.parse().unwrap());
        }
        let codec: ProstCodec<Text, Text> = ProstCodec::default();
        client.unary(request, PathAndQuery::from_static("/onefold.test.Payments/Pay"), codec).await
    }
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().unwrap().reason
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unary_call_takes_hold_once_and_its_refusals_carry_the_registry_code() {
    let served = served().await;
    let first = served.pay("k", "seven").await.unwrap();
    let again = served.pay("k", "seven").await.unwrap();
    assert!(again.metadata().contains_key("idempotent-replayed"));
    assert_eq!(first.into_inner(), again.into_inner());

    let reused = served.pay("k", "eight").await.unwrap_err();
    assert_eq!((reused.code(), reason(&reused)), (Code::InvalidArgument, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    let missing = served.pay("", "seven").await.unwrap_err();
    assert_eq!((missing.code(), reason(&missing)), (Code::InvalidArgument, "REQUEST_HEADER_MISSING".to_owned()));
    assert_eq!(served.payments.calls.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_unary_call_is_a_failed_precondition_and_is_not_sent_again() {
    let served = served().await;
    assert_eq!(served.pay("k", "lost").await.unwrap_err().code(), Code::Unavailable);
    let unknown = served.pay("k", "lost").await.unwrap_err();
    assert_eq!((unknown.code(), reason(&unknown)), (Code::FailedPrecondition, "OUTCOME_UNKNOWN".to_owned()));
    let info = unknown.get_details_error_info().unwrap();
    assert_eq!(info.metadata["safeToRetryWithNewKey"], "false");
    assert_eq!(served.payments.calls.load(Ordering::Relaxed), 1);

    // No, for good, is replayed; not applied leaves the key usable.
    for _ in 0..2 {
        assert_eq!(served.pay("no", "refused").await.unwrap_err().code(), Code::InvalidArgument);
    }
    assert_eq!(served.payments.calls.load(Ordering::Relaxed), 2);
    for _ in 0..2 {
        assert_eq!(served.pay("later", "limited").await.unwrap_err().code(), Code::ResourceExhausted);
    }
    assert_eq!(served.payments.calls.load(Ordering::Relaxed), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unary_call_in_flight_is_aborted_with_the_time_to_come_again() {
    let served = Arc::new(served().await);
    let slow = tokio::spawn({
        let served = Arc::clone(&served);
        async move { served.pay("k", "slow").await }
    });
    while served.payments.calls.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let aborted = served.pay("k", "slow").await.unwrap_err();
    assert_eq!((aborted.code(), reason(&aborted)), (Code::Aborted, "OPERATION_IN_FLIGHT".to_owned()));
    assert!(aborted.get_details_retry_info().unwrap().retry_delay.is_some());
    assert!(slow.await.unwrap().is_ok());
    assert!(served.pay("k", "slow").await.is_ok());
    assert_eq!(served.payments.calls.load(Ordering::Relaxed), 1);
}
