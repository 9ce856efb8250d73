//! However often it is asked for: one order, one charge, one receipt.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use onefold::call::CallFailure;
use onefold::incident::TookHold;
use onefold::retry::Category;
use onefold::testing::{CountingProvider, ManualClock, SeededRandom};
use onefold::{Ledger, Once, Performed};
use shop::{Order, Shop};
use tower::ServiceExt as _;

const ORDER: Order = Order { number: 17, cents: 4_200 };

async fn shop(folder: &tempfile::TempDir) -> Shop {
    Shop::open(Ledger::sqlite(folder.path().join("shop.db")).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn an_order_is_placed_once_in_the_shops_own_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(&folder).await;
    assert_eq!(shop.place(&ORDER).await.unwrap(), Once::Performed(17));
    assert_eq!(shop.place(&ORDER).await.unwrap(), Once::Replayed(17));
    assert_eq!(shop.place(&Order { cents: 1, ..ORDER }).await.unwrap(), Once::Conflict);
}

#[tokio::test]
async fn a_card_is_charged_once_and_a_busy_provider_is_tried_again_when_the_clock_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, random) = (Arc::new(ManualClock::default()), Arc::new(SeededRandom::new(7)));
    let ledger = Ledger::sqlite(folder.path().join("shop.db")).clock(clock.clone()).random(random).await.unwrap();
    let shop = Shop::open(ledger).await.unwrap();
    let busy = shop.charge(&ORDER, |_| async { Err(CallFailure::from_status(429)) }).await.unwrap();
    let Performed::Waiting { because: Some(because), .. } = busy else { panic!("{busy:?}") };
    assert_eq!(because, Category::RateLimited.code());
    clock.advance(Duration::from_mins(5));
    let provider = CountingProvider::default();
    for replayed in [false, true] {
        let bank = provider.clone();
        let card = move |_| async move { Ok(format!("CH-{}", bank.act("CHARGE-17"))) };
        let answer = shop.charge(&ORDER, card).await.unwrap();
        assert_eq!(answer, Performed::Completed { result: "CH-1".to_owned(), replayed });
    }
    assert_eq!(provider.effects_in_all(), 1);
}

#[tokio::test]
async fn a_lost_answer_is_an_incident_that_a_person_settles() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(&folder).await;
    let lost = shop.charge(&ORDER, |_| async { Err(CallFailure::from_status(503)) }).await.unwrap();
    assert!(matches!(lost, Performed::Unknown { .. }), "{lost:?}");
    let incidents = shop.ledger().incidents();
    for incident in incidents.open().await.unwrap() {
        let found = TookHold::evidence("TX-7").result(&"CH-1").unwrap();
        incidents.resolve(incident.id, found).by("ada").because("the bank shows it").await.unwrap();
    }
    let again = shop.charge(&ORDER, |_| async { panic!("charged again") }).await.unwrap();
    assert_eq!(again, Performed::Completed { result: "CH-1".to_owned(), replayed: true });
}

#[tokio::test]
async fn a_repeated_key_gets_the_receipt_that_was_issued() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(&folder).await;
    let provider = CountingProvider::default();
    let printer = provider.clone();
    let app = shop.routes(move || format!("receipt {}", printer.act("R"))).unwrap();
    for _ in 0..2 {
        let request = Request::post("/receipts").header("x-customer", "ada").header("Idempotency-Key", "\"R-1\"");
        let request = request.body(Body::from("17")).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let (status, body) = (response.status(), axum::body::to_bytes(response.into_body(), 4096).await.unwrap());
        assert!(status.is_success(), "{status}: {body:?}");
    }
    assert_eq!(provider.effects("R"), 1);
}
