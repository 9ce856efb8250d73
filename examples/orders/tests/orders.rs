//! Orders are charged once, however often they are asked for.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use onefold::Ledger;
use onefold::settings::Shutdown;
use onefold::store::Sqlite;
use onefold_example_orders::{Provider, routes};
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

struct Shop {
    app: Router,
    provider: Provider,
    ledger: Ledger<Sqlite>,
    _folder: TempDir,
}

impl Shop {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::sqlite(folder.path().join("orders.db")).await.unwrap();
        let provider = Provider::default();
        let app = routes(&ledger, provider.clone()).unwrap();
        Self { app, provider, ledger, _folder: folder }
    }

    async fn order(&self, customer: &str, key: &str, item: &str) -> Response<Body> {
        let request = Request::post("/orders")
            .header("content-type", "application/json")
            .header("x-customer", customer)
            .header("idempotency-key", key)
            .body(Body::from(format!("{{\"item\":\"{item}\",\"cents\":4200}}")))
            .unwrap();
        self.app.clone().oneshot(request).await.unwrap()
    }

    async fn close(self) {
        self.ledger.shutdown(Shutdown::Now).await;
    }
}

fn replayed(answer: &Response<Body>) -> bool {
    answer.headers().get("idempotent-replayed").is_some_and(|value| value == "true")
}

async fn json(answer: Response<Body>) -> Value {
    serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

#[tokio::test]
async fn an_order_that_is_sent_again_is_answered_and_not_charged() {
    let shop = Shop::open().await;
    let first = shop.order("ann", "K-1", "chair").await;
    assert_eq!((first.status().as_u16(), replayed(&first)), (201, false));
    let again = shop.order("ann", "K-1", "chair").await;
    assert_eq!((again.status().as_u16(), replayed(&again)), (201, true));
    assert_eq!(json(first).await, json(again).await);
    assert_eq!(shop.provider.charges(), 1);
    shop.close().await;
}

#[tokio::test]
#[expect(clippy::many_single_char_names, reason = "eight of the same")]
async fn eight_at_once_are_one_charge_and_one_answer() {
    let shop = Shop::open().await;
    let order = || shop.order("ann", "K-2", "table");
    let (a, b, c, d, e, f, g, h) = tokio::join!(order(), order(), order(), order(), order(), order(), order(), order());
    for answer in [a, b, c, d, e, f, g, h] {
        assert_eq!(json(answer).await["charge"], "CH-1");
    }
    assert_eq!(shop.provider.charges(), 1);
    shop.close().await;
}

#[tokio::test]
async fn a_key_belongs_to_its_request_and_to_its_customer() {
    let shop = Shop::open().await;
    assert_eq!(shop.order("ann", "K-3", "chair").await.status(), 201);
    let changed = shop.order("ann", "K-3", "table").await;
    assert_eq!(changed.status(), 422);
    assert_eq!(json(changed).await["code"], "IDEMPOTENCY_KEY_REUSED");
    assert!(!replayed(&shop.order("bob", "K-3", "chair").await), "another customer's key is another order");
    assert_eq!(shop.provider.charges(), 2);
    shop.close().await;
}
