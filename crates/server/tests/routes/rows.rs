//! The table, row by row and in its order.

use std::time::Duration;

use axum::body::Body;
use axum::http::Method;

use crate::client::Call;
use crate::route_fixture::{RouteFixture, through_both};

through_both!(
    safe_methods_and_put_and_delete_pass,
    a_missing_key_is_400_and_nothing_happens,
    a_malformed_key_is_400_and_nothing_happens,
    an_unknown_caller_is_401_and_the_key_stays_usable,
    a_body_that_is_too_large_is_413_and_the_key_stays_usable,
    a_body_that_is_too_slow_is_408_and_the_key_stays_usable,
    a_ledger_that_does_not_answer_is_503_and_nothing_happens,
    one_key_for_two_requests_is_422_in_every_state,
    a_duplicate_in_flight_waits_and_gets_the_answer,
    a_duplicate_that_waited_in_vain_is_told_to_come_again,
    an_unknown_outcome_is_never_performed_again,
    a_completed_request_is_replayed,
    an_answer_that_was_too_large_or_streamed_is_not_performed_again,
    a_final_failure_is_replayed,
    a_failure_that_may_be_retried_is_performed_again_after_its_backoff,
);

async fn safe_methods_and_put_and_delete_pass(fixture: RouteFixture) {
    for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE] {
        let before = fixture.provider.count();
        for _ in 0..2 {
            let call = Call::plain(fixture.at, method.clone(), "/payments").header("idempotency-key", "same").body("");
            let answer = call.send().await;
            assert_eq!((answer.status.as_u16(), answer.replayed()), (201, false), "{method}");
        }
        assert_eq!(fixture.provider.count(), before + 2, "{method}");
    }
}

async fn a_missing_key_is_400_and_nothing_happens(fixture: RouteFixture) {
    let answer = Call::plain(fixture.at, Method::POST, "/payments").send().await;
    assert_eq!(answer.problem(), (400, "REQUEST_HEADER_MISSING".to_owned()));
    assert_eq!(fixture.provider.count(), 0);
    let passed = Call::plain(fixture.at, Method::POST, "/optional").send().await;
    assert_eq!((passed.status.as_u16(), passed.replayed()), (201, false));
}

async fn a_malformed_key_is_400_and_nothing_happens(fixture: RouteFixture) {
    let long = "x".repeat(256);
    for bad in ["", "two words", "\"open", "a,b", "caf\u{e9}", long.as_str()] {
        let answer = fixture.pay(bad).send().await;
        assert_eq!(answer.problem(), (400, "IDEMPOTENCY_KEY_INVALID".to_owned()), "{bad:?}");
    }
    let twice = fixture.pay("a").header("idempotency-key", "a").send().await;
    assert_eq!(twice.problem(), (400, "IDEMPOTENCY_KEY_INVALID".to_owned()));
    assert_eq!(fixture.provider.count(), 0);
    // Quoted and bare are one key.
    assert!(!fixture.pay("\"abc-1\"").send().await.replayed());
    assert!(fixture.pay("abc-1").send().await.replayed());
}

async fn an_unknown_caller_is_401_and_the_key_stays_usable(fixture: RouteFixture) {
    for user in ["", "revoked"] {
        assert_eq!(fixture.pay("k").user(user).send().await.status.as_u16(), 401);
    }
    assert_eq!(fixture.provider.count(), 0);
    assert_eq!(fixture.pay("k").send().await.status.as_u16(), 201);
    // Who may no longer call gets no replay either.
    assert_eq!(fixture.pay("k").user("revoked").send().await.status.as_u16(), 401);
}

async fn a_body_that_is_too_large_is_413_and_the_key_stays_usable(fixture: RouteFixture) {
    let large = vec![b'x'; 1024 * 1024 + 1];
    let announced = fixture.pay("k").body(large.clone()).send().await;
    assert_eq!(announced.problem(), (413, "REQUEST_TOO_LARGE".to_owned()));
    let chunks = large.chunks(100_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect::<Vec<_>>();
    let streamed = fixture.pay("k").body(Body::from_stream(stream(chunks))).send().await;
    assert_eq!(streamed.problem(), (413, "REQUEST_TOO_LARGE".to_owned()));
    assert_eq!(fixture.provider.count(), 0);
    assert_eq!(fixture.pay("k").send().await.status.as_u16(), 201);
}

async fn a_body_that_is_too_slow_is_408_and_the_key_stays_usable(fixture: RouteFixture) {
    let never = Body::new(http_body_util::StreamBody::new(Slow));
    let answer = fixture.pay("k").body(never).send().await;
    assert_eq!(answer.problem(), (408, "REQUEST_TOO_SLOW".to_owned()));
    assert_eq!(fixture.provider.count(), 0);
    assert_eq!(fixture.pay("k").send().await.status.as_u16(), 201);
}

async fn a_ledger_that_does_not_answer_is_503_and_nothing_happens(fixture: RouteFixture) {
    assert_eq!(fixture.pay("before").send().await.status.as_u16(), 201);
    let away = fixture.store_fixture.take_away();
    let answer = fixture.pay("k").send().await;
    assert_eq!(answer.problem().0, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(fixture.provider.count(), 1);
    drop(away);
    for _ in 0..60 {
        let again = fixture.pay("k").send().await;
        if again.status.as_u16() == 201 {
            return;
        }
        assert_eq!(again.problem().0, 503, "{again:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("the ledger never came back");
}

async fn one_key_for_two_requests_is_422_in_every_state(fixture: RouteFixture) {
    let reused = (422, "IDEMPOTENCY_KEY_REUSED".to_owned());
    // Completed.
    assert_eq!(fixture.pay("done").send().await.status.as_u16(), 201);
    assert_eq!(fixture.pay("done").body("{\"amount\":8}").send().await.problem(), reused);
    assert_eq!(fixture.pay("done").at("/payments?dry=1").send().await.problem(), reused);
    let typed = Call::plain(fixture.at, Method::POST, "/payments").header("idempotency-key", "done");
    assert_eq!(typed.header("content-type", "text/plain").send().await.problem(), reused);
    // Unknown.
    assert_eq!(fixture.pay("lost").script("status=500").send().await.status.as_u16(), 500);
    assert_eq!(fixture.pay("lost").body("{\"amount\":8}").send().await.problem(), reused);
    // In flight.
    let first = tokio::spawn(fixture.pay("now").script("wait").send());
    fixture.provider.acted(3).await;
    assert_eq!(fixture.pay("now").body("{\"amount\":8}").send().await.problem(), reused);
    fixture.provider.open();
    assert_eq!(first.await.unwrap().status.as_u16(), 201);
}

async fn a_duplicate_in_flight_waits_and_gets_the_answer(fixture: RouteFixture) {
    let first = tokio::spawn(fixture.pay("k").script("wait").send());
    fixture.provider.acted(1).await;
    let second = tokio::spawn(fixture.pay("k").header("prefer", "wait=25").send());
    tokio::time::sleep(Duration::from_millis(100)).await;
    fixture.provider.open();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((first.status, first.replayed()), (second.status, !second.replayed()), "{first:?} {second:?}");
    assert_eq!(first.body, second.body);
    assert_eq!(second.header("preference-applied"), Some("wait=25"));
    assert_eq!(fixture.provider.count(), 1);
}

async fn a_duplicate_that_waited_in_vain_is_told_to_come_again(fixture: RouteFixture) {
    let first = tokio::spawn(fixture.pay("k").script("wait").send());
    fixture.provider.acted(1).await;
    let second = fixture.pay("k").header("prefer", "wait=0").send().await;
    assert_eq!(second.problem(), (409, "OPERATION_IN_FLIGHT".to_owned()));
    assert!(second.header("retry-after").is_some() && second.header("preference-applied") == Some("wait=0"));
    assert_eq!(second.json()["retryable"], true);
    fixture.provider.open();
    first.await.unwrap();
    assert!(fixture.pay("k").send().await.replayed());
    assert_eq!(fixture.provider.count(), 1);
}

async fn an_unknown_outcome_is_never_performed_again(fixture: RouteFixture) {
    let first = fixture.pay("k").script("status=503").send().await;
    assert_eq!((first.status.as_u16(), first.header("onefold-outcome")), (503, Some("unknown")));
    assert_eq!(first.json()["id"], "PAY-1", "the first caller gets the upstream's own answer");
    let reference = first.header("onefold-operation").unwrap().to_owned();
    for _ in 0..2 {
        let again = fixture.pay("k").send().await;
        assert_eq!(again.problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
        let problem = again.json();
        assert_eq!(
            (&problem["operationRef"], &problem["safeToRetryWithNewKey"]),
            (&reference.clone().into(), &false.into())
        );
    }
    assert_eq!(fixture.provider.count(), 1);
    let incidents = fixture.incidents().await;
    assert_eq!(incidents.len(), 1, "{incidents:?}");
}

async fn a_completed_request_is_replayed(fixture: RouteFixture) {
    let first = fixture.pay("k").send().await;
    let again = fixture.pay("k").send().await;
    assert_eq!((first.status.as_u16(), first.replayed()), (201, false));
    assert_eq!((again.status, again.replayed(), &again.body), (first.status, true, &first.body));
    for kept in ["content-type", "location", "idempotency-expires"] {
        assert_eq!(again.header(kept), first.header(kept), "{kept}");
        assert!(again.header(kept).is_some(), "{kept}");
    }
    assert_eq!((first.header("x-internal"), again.header("x-internal")), (Some("never stored"), None));
    assert_eq!((first.header("set-cookie"), again.header("set-cookie")), (Some("session=hush"), None));
    assert_eq!(fixture.provider.count(), 1);
    // Whom nobody identified is told that it was done, and not what came of it.
    assert_eq!(fixture.pay("k").at("/anyone").send().await.status.as_u16(), 201);
    let anyone = fixture.pay("k").at("/anyone").send().await;
    assert_eq!(anyone.problem(), (409, "RESULT_UNAVAILABLE".to_owned()));
    assert_eq!((&anyone.json()["completed"], &anyone.json()["originalStatus"]), (&true.into(), &201.into()));
}

async fn an_answer_that_was_too_large_or_streamed_is_not_performed_again(fixture: RouteFixture) {
    for (key, script, length) in [("large", "bytes=3000000", 3_000_000), ("events", "events", 22)] {
        let before = fixture.provider.count();
        let first = fixture.pay(key).script(script).send().await;
        assert_eq!((first.status.as_u16(), first.body.len()), (201, length));
        let again = fixture.pay(key).send().await;
        assert_eq!(again.problem(), (409, "RESULT_UNAVAILABLE".to_owned()));
        assert_eq!((&again.json()["completed"], &again.json()["originalStatus"]), (&true.into(), &201.into()));
        assert_eq!(fixture.provider.count(), before + 1);
    }
}

async fn a_final_failure_is_replayed(fixture: RouteFixture) {
    let first = fixture.pay("k").script("status=402").send().await;
    let again = fixture.pay("k").send().await;
    assert_eq!((first.status.as_u16(), first.replayed()), (402, false));
    assert_eq!((again.status, again.replayed(), &again.body), (first.status, true, &first.body));
    assert_eq!(fixture.provider.count(), 1);
    assert!(fixture.incidents().await.is_empty(), "a declined card is an outcome");
    // Whom nobody identified must not take a refusal for done.
    assert_eq!(fixture.pay("k").at("/anyone").script("status=402").send().await.status.as_u16(), 402);
    let anyone = fixture.pay("k").at("/anyone").send().await;
    assert_eq!(anyone.problem(), (409, "RESULT_UNAVAILABLE".to_owned()));
    assert_eq!((&anyone.json()["completed"], &anyone.json()["originalStatus"]), (&false.into(), &402.into()));
}

async fn a_failure_that_may_be_retried_is_performed_again_after_its_backoff(fixture: RouteFixture) {
    let notice = || fixture.pay("k").at("/notices");
    let first = notice().script("status=500").send().await;
    assert_eq!((first.status.as_u16(), first.header("onefold-outcome")), (500, Some("unknown")));
    let wait: u64 = first.header("retry-after").unwrap().parse().unwrap();
    let early = notice().send().await;
    // The backoff may be over before a slow machine has sent the request again.
    if early.status.as_u16() == 409 {
        assert_eq!(early.problem().1, "OPERATION_WAITING");
        assert!(early.header("retry-after").is_some());
        tokio::time::sleep(Duration::from_secs(wait + 1)).await;
        assert_eq!(notice().send().await.status.as_u16(), 201);
    }
    assert!(notice().send().await.replayed());
    let calls = fixture.provider.calls();
    assert_eq!(calls.len(), 2);
    let keys: Vec<_> = calls.iter().map(|call| call.headers["x-provider-key"].clone()).collect();
    assert_eq!(keys[0], keys[1], "the provider gets one key");
    assert!(keys[0].to_str().unwrap().starts_with("k~40"), "the caller's key and whose it is: {keys:?}");
}

fn stream(
    chunks: Vec<Result<Vec<u8>, std::io::Error>>,
) -> impl futures_core::Stream<Item = Result<Vec<u8>, std::io::Error>> {
    Chunks(chunks.into())
}

struct Chunks(std::collections::VecDeque<Result<Vec<u8>, std::io::Error>>);

impl futures_core::Stream for Chunks {
    type Item = Result<Vec<u8>, std::io::Error>;
    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.pop_front())
    }
}

/// A body of which nothing ever comes.
struct Slow;

impl futures_core::Stream for Slow {
    type Item = Result<http_body::Frame<bytes::Bytes>, std::io::Error>;
    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Pending
    }
}
