//! Which upstream gets a request, and what is known when none answers.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use onefold_core::call::{CallOutcome, Sent};
use onefold_http::client::Connect;
use onefold_http::idempotent::NoResponse;
use tokio::io::AsyncWriteExt as _;

use crate::fixture::{Gate, Service, WITHIN, forward, get, head, http1, nobody, raw_service, route, text};

fn post(body: &'static str) -> Request<Body> {
    Request::post("/a").header("host", "x").body(Body::from(body)).unwrap()
}

#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_passed_over_with_the_body_intact() {
    let (gone, service) = (nobody().await, Service::start().await);
    let way = forward(&[&gone, &service.url], &Connect::default(), WITHIN);
    for _ in 0..3 {
        assert_eq!(way.send(post("whole")).await.unwrap().status(), StatusCode::OK);
    }
    assert_eq!(service.seen().iter().filter(|seen| seen.body == "whole").count(), 3);
}

#[tokio::test]
async fn upstreams_take_turns() {
    let (one, two) = (Service::start().await, Service::start().await);
    let way = forward(&[&one.url, &two.url], &Connect::default(), WITHIN);
    for _ in 0..4 {
        way.send(post("x")).await.unwrap();
    }
    assert_eq!((one.seen().len(), two.seen().len()), (2, 2));
}

#[tokio::test]
async fn nothing_was_sent_where_no_connection_was_made() {
    let gone = nobody().await;
    let lost = forward(&[&gone, "http://name.invalid"], &Connect::default(), WITHIN).send(post("x")).await.unwrap_err();
    assert_eq!((lost.happened, lost.sent), (CallOutcome::NoConnection, Sent::Nothing));
    // A service that speaks no TLS fails the handshake: nothing of the request left.
    let plain = Service::start().await.url.replace("http://", "https://");
    let lost = forward(&[&plain], &Connect::default(), WITHIN).send(post("x")).await.unwrap_err();
    assert_eq!((lost.happened, lost.sent), (CallOutcome::NoConnection, Sent::Nothing));
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_sends_nothing() {
    let silent = raw_service(|stream| async move {
        tokio::time::sleep(WITHIN).await;
        drop(stream);
    })
    .await;
    let connect = Connect { within: Duration::from_millis(100), ..Connect::default() };
    let lost = forward(&[&silent.replace("http://", "https://")], &connect, WITHIN).send(post("x")).await.unwrap_err();
    assert_eq!(lost.sent, Sent::Nothing);
}

#[tokio::test]
async fn time_that_passes_before_a_connection_is_made_sends_nothing() {
    let silent = raw_service(|stream| async move {
        tokio::time::sleep(WITHIN).await;
        drop(stream);
    })
    .await;
    let way = forward(&[&silent.replace("http://", "https://")], &Connect::default(), Duration::from_millis(100));
    let lost = way.send(post("x")).await.unwrap_err();
    assert_eq!((lost.happened, lost.sent), (CallOutcome::NoConnection, Sent::Nothing));
}

#[tokio::test]
async fn something_may_have_been_sent_where_the_connection_ended_later() {
    let resets = raw_service(|mut stream| async move {
        head(&mut stream).await;
    })
    .await;
    let other = Service::start().await;
    let way = forward(&[&resets, &other.url], &Connect::default(), WITHIN);
    let NoResponse { happened, sent, .. } = way.send(post("x")).await.unwrap_err();
    assert_eq!((happened, sent), (CallOutcome::Reset, Sent::Something));
    assert_eq!(other.seen().len(), 0, "a request that may have arrived is not sent a second time");
}

#[tokio::test]
async fn no_answer_in_time_is_not_a_failure() {
    let silent = raw_service(|mut stream| async move {
        head(&mut stream).await;
        tokio::time::sleep(WITHIN).await;
    })
    .await;
    let way = forward(&[&silent], &Connect::default(), Duration::from_millis(100));
    let NoResponse { happened, sent, .. } = way.send(post("x")).await.unwrap_err();
    assert_eq!((happened, sent), (CallOutcome::Timeout, Sent::Something));
}

#[tokio::test]
async fn a_client_is_told_what_is_known() {
    let gone = nobody().await;
    let gate = Gate::of(route(&gone)).await;
    let response = http1().request(get(&gate.url("/")).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    assert!(text(response).await.contains("UPSTREAM_UNREACHABLE"));
    let broken = raw_service(|mut stream| async move {
        head(&mut stream).await;
        let _ = stream.write_all(b"nonsense\r\n\r\n").await;
    })
    .await;
    let gate = Gate::of(route(&broken)).await;
    let response = http1().request(get(&gate.url("/")).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
}
