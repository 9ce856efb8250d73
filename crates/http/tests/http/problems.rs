//! A problem of anyone's service: which page it points to, which occurrence it names, when to come again.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http_body_util::BodyExt as _;
use onefold_core::Error;
use onefold_core::error::{ALL, AUTHENTICATION_REQUIRED, Code};
use onefold_http::{ErrorsBase, ProblemResponse, answer_every_error, answer_every_error_at, error_pages};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::log::{Log, want_every_line};

mod errors {
    onefold_core::codes! {
        /// Order is closed
        ORDER_CLOSED: DomainRule, status 409, retry Never, owner Caller, visible External;
            summary "the order takes no further lines", first_check "the order's state",
            safe_action "open another order", escalation "the order team";
    }
}

async fn closed() -> ProblemResponse {
    Error::new(errors::ORDER_CLOSED, "order 7 is closed").into()
}

async fn who() -> ProblemResponse {
    Error::new(AUTHENTICATION_REQUIRED, "the session has expired").into()
}

fn routes() -> Router {
    want_every_line();
    Router::new().route("/orders/7", get(closed)).route("/me", get(who))
}

async fn ask(app: &Router, path: &str) -> Response {
    app.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap()
}

async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

async fn problem(app: &Router, path: &str) -> Value {
    serde_json::from_str(&text(ask(app, path).await).await).unwrap()
}

#[tokio::test]
async fn a_users_code_points_to_a_page_that_the_users_service_has() {
    let app = answer_every_error(routes().merge(error_pages([errors::ALL, ALL].concat())));
    let shown = problem(&app, "/orders/7").await;
    assert_eq!(shown["type"], "/errors/order-closed");
    let page = text(ask(&app, "/errors/order-closed").await).await;
    assert!(page.starts_with("# ORDER_CLOSED") && page.contains("open another order"), "{page}");
    assert_eq!(ask(&app, "/errors/no-such-code").await.status(), StatusCode::NOT_FOUND);
    let elsewhere = ErrorsBase::parse("https://docs.example.com/errors/").unwrap();
    let app = answer_every_error_at(routes(), elsewhere);
    assert_eq!(problem(&app, "/orders/7").await["type"], "https://docs.example.com/errors/order-closed");
}

#[tokio::test]
async fn a_users_own_401_says_nothing_of_our_tokens() {
    let app = answer_every_error(routes());
    let shown = problem(&app, "/me").await;
    assert_eq!((&shown["status"], &shown["code"]), (&401.into(), &"AUTHENTICATION_REQUIRED".into()));
    assert!(!shown.to_string().contains("onefold token"), "{shown}");
}

#[tokio::test]
async fn an_instance_names_one_occurrence_and_its_log_line() {
    let log = Log::default();
    let _guard = log.take();
    let app = answer_every_error(routes());
    let (one, two) = (problem(&app, "/orders/7").await, problem(&app, "/orders/7").await);
    assert_ne!(one["instance"], two["instance"]);
    for shown in [&one, &two] {
        let id = shown["instance"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
        assert!(log.text().contains(&format!("request_id={id}")), "{id}: {}", log.text());
    }
    // Outside a request it is made for the answer.
    let alone: Value =
        serde_json::from_str(&text(ProblemResponse::from(Error::new(errors::ORDER_CLOSED, "x")).into_response()).await)
            .unwrap();
    assert!(alone["instance"].as_str().unwrap().starts_with("urn:uuid:"), "{alone}");
}

#[tokio::test]
async fn retry_after_is_sent_only_where_a_retry_may_help_and_with_the_codes_own_wait() {
    want_every_line();
    let answered = |code: Code| ProblemResponse::from(Error::new(code, "x")).had_key().into_response();
    for code in ALL {
        let response = answered(*code);
        let asks = matches!(response.status().as_u16(), 429 | 503) && code.retryable(true);
        let wait = response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(wait.is_some(), asks, "{code}: {wait:?}");
    }
    let wait = |code: Code| answered(code).headers()[header::RETRY_AFTER].to_str().unwrap().to_owned();
    assert_eq!(wait(onefold_core::error::DATABASE_UNAVAILABLE), "1");
    assert_eq!(wait(onefold_core::error::RATE_LIMITED), "60");
    assert_eq!(wait(onefold_core::error::MAINTENANCE), "900");
}
