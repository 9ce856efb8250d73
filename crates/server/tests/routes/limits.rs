//! What a route and its dependency limit: how much at once, how often, how long something is kept.

use std::time::Duration;

use crate::route_fixture::{RouteFixture, through_both};

through_both!(
    a_request_in_flight_is_told_with_the_status_that_the_route_chose,
    an_answer_past_its_retention_is_not_performed_again,
    a_full_bulkhead_is_503_and_costs_no_key,
    a_rate_that_is_used_up_is_429_and_costs_no_key,
    an_effect_that_a_person_found_without_its_answer_is_told_as_done,
    a_multipart_retry_with_another_boundary_is_told_why_it_is_422,
);

async fn a_request_in_flight_is_told_with_the_status_that_the_route_chose(fixture: RouteFixture) {
    for (calls, (path, status)) in (1..).zip([("/early", 425), ("/busy", 503), ("/payments", 409)]) {
        let first = tokio::spawn(fixture.pay("k").at(path).script("wait").send());
        fixture.provider.acted(calls).await;
        let second = fixture.pay("k").at(path).header("prefer", "wait=0").send().await;
        assert_eq!(second.problem(), (status, "OPERATION_IN_FLIGHT".to_owned()), "{path}");
        assert_eq!(
            (second.json()["status"].as_u64(), &second.json()["retryable"]),
            (Some(status.into()), &true.into())
        );
        assert!(second.header("retry-after").is_some(), "{path}");
        assert!(!first.is_finished(), "{path}");
        first.abort();
    }
    fixture.provider.open();
}

async fn an_answer_past_its_retention_is_not_performed_again(fixture: RouteFixture) {
    assert_eq!(fixture.pay("k").at("/brief").send().await.status.as_u16(), 201);
    for _ in 0..240 {
        let again = fixture.pay("k").at("/brief").send().await;
        if again.status.as_u16() == 409 {
            assert_eq!(again.problem(), (409, "RESULT_UNAVAILABLE".to_owned()));
            let problem = again.json();
            assert_eq!((&problem["completed"], &problem["originalStatus"]), (&true.into(), &201.into()));
            assert!(problem["operationRef"].as_str().unwrap().starts_with("op_"), "{problem}");
            assert_eq!(fixture.provider.count(), 1);
            return;
        }
        assert!(again.replayed(), "{again:?}");
        tokio::time::sleep(Duration::from_millis(250)).await;
        fixture.prune().await;
    }
    panic!("the answer was kept for ever");
}

async fn a_full_bulkhead_is_503_and_costs_no_key(fixture: RouteFixture) {
    let first = tokio::spawn(fixture.pay("one").at("/narrow").script("wait").send());
    fixture.provider.acted(1).await;
    let second = fixture.pay("two").at("/narrow").send().await;
    assert_eq!(second.problem(), (503, "BULKHEAD_FULL".to_owned()));
    assert!(second.header("retry-after").is_some() && second.header("onefold-outcome").is_none());
    assert_eq!(fixture.provider.count(), 1);
    fixture.provider.open();
    assert_eq!(first.await.unwrap().status.as_u16(), 201);
    let again = fixture.pay("two").at("/narrow").send().await;
    assert_eq!((again.status.as_u16(), again.replayed()), (201, false), "the key stayed usable");
}

async fn a_rate_that_is_used_up_is_429_and_costs_no_key(fixture: RouteFixture) {
    for key in ["one", "two"] {
        assert_eq!(fixture.pay(key).at("/rated").send().await.status.as_u16(), 201);
    }
    let third = fixture.pay("three").at("/rated").send().await;
    assert_eq!(third.problem(), (429, "RATE_EXCEEDED".to_owned()));
    let wait: u64 = third.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{wait}");
    assert_eq!(third.json()["retryable"], true);
    assert_eq!(fixture.provider.count(), 2);
    assert!(fixture.incidents().await.is_empty());
}

async fn an_effect_that_a_person_found_without_its_answer_is_told_as_done(fixture: RouteFixture) {
    let first = fixture.pay("k").script("status=500").send().await;
    let reference = first.header("onefold-operation").unwrap().to_owned();
    fixture.took_hold("NTC-991").await;
    for _ in 0..2 {
        let again = fixture.pay("k").send().await;
        assert_eq!(again.problem(), (409, "RESULT_UNAVAILABLE".to_owned()));
        let problem = again.json();
        assert_eq!((&problem["completed"], &problem["operationRef"]), (&true.into(), &reference.clone().into()));
        assert_eq!(problem["retryable"], false, "{problem}");
    }
    assert_eq!(fixture.provider.count(), 1);
    assert!(fixture.incidents().await.is_empty());
}

async fn a_multipart_retry_with_another_boundary_is_told_why_it_is_422(fixture: RouteFixture) {
    let upload = |boundary: &str| {
        let body = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n1\r\n--{boundary}--\r\n");
        let plain = crate::client::Call::plain(fixture.at, axum::http::Method::POST, "/payments").untyped();
        let typed = plain.header("content-type", format!("multipart/form-data; boundary={boundary}"));
        typed.header("idempotency-key", "k").body(body)
    };
    assert_eq!(upload("one").send().await.status.as_u16(), 201);
    assert!(upload("one").send().await.replayed());
    let again = upload("two").send().await;
    assert_eq!(again.problem(), (422, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    assert!(again.json()["next"].as_str().unwrap().contains("boundary"), "{again:?}");
    let other = fixture.pay("k").send().await;
    assert_eq!(other.problem(), (422, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    assert!(!other.json()["next"].as_str().unwrap().contains("boundary"), "{other:?}");
}
