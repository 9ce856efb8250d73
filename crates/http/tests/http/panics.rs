//! A panic is answered and logged without its message.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use http_body_util::BodyExt as _;
use onefold_http::{answer_every_error, log_panics};
use tower::ServiceExt as _;

use crate::log::Log;

async fn breaks() -> &'static str {
    panic!("the card is m4rk3r-panic")
}

#[tokio::test]
async fn the_message_of_a_panic_is_in_no_answer_and_in_no_log() {
    let log = Log::default();
    let taken = log.take();
    let before = std::panic::take_hook();
    log_panics();
    let app: Router = answer_every_error(Router::new().route("/breaks", get(breaks)));
    let response = app.oneshot(Request::get("/breaks").body(Body::empty()).unwrap()).await;
    std::panic::set_hook(before);
    drop(taken);
    let response = response.unwrap();
    assert_eq!(response.status(), 500);
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&bytes);
    assert!(body.contains("INTERNAL_ERROR") && !body.contains("m4rk3r"), "{body}");
    let log = log.text();
    assert!(log.contains("panicked") && log.contains("panics.rs") && log.contains("INTERNAL_ERROR"), "{log}");
    assert!(!log.contains("m4rk3r"), "{log}");
}
