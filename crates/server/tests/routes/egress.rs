//! The gateway before a third party that is not idempotent: what is unknown is asked about, or made impossible.

use std::time::Duration;

use crate::client::Answer;
use crate::route_fixture::RouteFixture;

/// The same request until it is no longer unknown or waiting.
async fn at_rest(fixture: &RouteFixture, path: &str) -> Answer {
    key_at_rest(fixture, path, "k").await
}

async fn key_at_rest(fixture: &RouteFixture, path: &str, key: &str) -> Answer {
    for _ in 0..240 {
        let answer = fixture.pay(key).at(path).send().await;
        if answer.status.as_u16() != 409 {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("never at rest");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_asked_and_says_yes_ends_the_unknown_with_its_result() {
    let fixture = RouteFixture::gateway().await;
    let first = fixture.pay("k").at("/asked").script("status=500").send().await;
    assert_eq!((first.status.as_u16(), first.header("onefold-outcome")), (500, Some("unknown")));
    let answer = at_rest(&fixture, "/asked").await;
    assert_eq!((answer.status.as_u16(), answer.replayed()), (200, true), "{answer:?}");
    assert_eq!(answer.json(), serde_json::json!({ "id": "PAY-1", "state": "paid" }));
    assert_eq!(fixture.provider.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_asked_and_says_no_is_called_again() {
    let fixture = RouteFixture::gateway().await;
    assert_eq!(fixture.pay("k").at("/asked").script("status=500, unacted").send().await.status.as_u16(), 500);
    let answer = at_rest(&fixture, "/asked").await;
    assert_eq!((answer.status.as_u16(), answer.replayed()), (201, false), "{answer:?}");
    let keys: Vec<_> = fixture.provider.calls().iter().map(|call| call.key().unwrap().to_owned()).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voided_key_is_refused_for_ever_and_the_next_attempt_has_another() {
    let fixture = RouteFixture::gateway().await;
    assert_eq!(fixture.pay("k").at("/voided").script("status=500, unacted").send().await.status.as_u16(), 500);
    let answer = at_rest(&fixture, "/voided").await;
    assert_eq!(answer.status.as_u16(), 201, "{answer:?}");
    let keys: Vec<_> = fixture.provider.calls().iter().map(|call| call.key().unwrap().to_owned()).collect();
    assert_eq!(fixture.provider.voided(), [keys[0].clone()]);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_cannot_be_voided_because_it_took_hold_is_replayed() {
    let fixture = RouteFixture::gateway().await;
    let first = fixture.pay("k").at("/voided").script("drop").send().await;
    // A reset; on a machine so slow that the deadline came first, a timeout.
    assert!([502, 504].contains(&first.status.as_u16()) && first.header("onefold-outcome").is_some(), "{first:?}");
    let answer = at_rest(&fixture, "/voided").await;
    assert_eq!((answer.replayed(), answer.json()), (true, "PAY-1".into()), "{answer:?}");
    assert_eq!((fixture.provider.count(), fixture.provider.voided().len()), (1, 0));
}

/// Keys that a header, an address or a careless reader would change.
const ODD_KEYS: [&str; 6] =
    ["\" lead\"", "\"trail \"", "\"a@b%40c\"", "\"/../a?b#c&d=e\"", "\"a\\\"b\\\\c,d\"", "\"~20~v2\""];

#[tokio::test(flavor = "multi_thread")]
async fn an_odd_key_is_asked_about_as_it_was_sent() {
    let fixture = RouteFixture::gateway().await;
    for (number, key) in ODD_KEYS.iter().enumerate() {
        let first = fixture.pay(key).at("/asked").script("status=500").send().await;
        assert_eq!((first.status.as_u16(), first.header("onefold-outcome")), (500, Some("unknown")), "{key}");
        let answer = key_at_rest(&fixture, "/asked", key).await;
        assert_eq!((answer.status.as_u16(), answer.replayed()), (200, true), "{key}: {answer:?}");
        assert_eq!(answer.json()["id"], format!("PAY-{}", number + 1), "{key}");
        assert_eq!(fixture.provider.count(), number + 1, "{key} took hold once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_odd_key_is_voided_as_it_was_sent() {
    let fixture = RouteFixture::gateway().await;
    for key in ODD_KEYS {
        let (calls, voided) = (fixture.provider.count(), fixture.provider.voided().len());
        assert_eq!(fixture.pay(key).at("/voided").script("status=500, unacted").send().await.status.as_u16(), 500);
        assert_eq!(key_at_rest(&fixture, "/voided", key).await.status.as_u16(), 201, "{key}");
        let sent: Vec<_> =
            fixture.provider.calls()[calls..].iter().map(|call| call.key().unwrap().to_owned()).collect();
        assert_eq!(fixture.provider.voided()[voided..], [sent[0].clone()], "{key}");
        assert_eq!(sent.len(), 2, "{key}");
        assert_ne!(sent[0], sent[1], "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_carries_the_credential_of_its_route_and_of_no_other() {
    let fixture = RouteFixture::gateway().await;
    for (path, shown) in [("/knows-us", Some("Bearer provider-hush")), ("/asked", None)] {
        let before = fixture.provider.questions().len();
        assert_eq!(fixture.pay("k").at(path).script("status=500").send().await.status.as_u16(), 500);
        assert!(at_rest(&fixture, path).await.replayed());
        let questions = fixture.provider.questions();
        assert!(questions.len() > before);
        for credential in &questions[before..] {
            assert_eq!(credential.as_ref().map(|value| value.to_str().unwrap()), shown, "{path}");
        }
    }
    assert!(!fixture.log().contains("provider-hush"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_shows_the_provider_its_own_credential_and_not_the_callers() {
    let fixture = RouteFixture::gateway().await;
    assert_eq!(fixture.pay("k").at("/lent").send().await.status.as_u16(), 201);
    assert_eq!(fixture.provider.calls()[0].headers["authorization"], "Bearer provider-hush");
    assert!(!fixture.log().contains("provider-hush"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_cannot_be_reached_costs_no_key() {
    let fixture = RouteFixture::gateway().await;
    for _ in 0..2 {
        let answer = fixture.pay("k").at("/dead").send().await;
        assert_eq!(answer.problem(), (502, "UPSTREAM_UNREACHABLE".to_owned()));
        assert!(answer.header("retry-after").is_some() && answer.header("onefold-outcome").is_none());
    }
    assert!(fixture.incidents().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_of_what_could_not_be_sent_all_hear_that_nothing_was_sent() {
    let fixture = RouteFixture::gateway().await;
    // However an attempt that ends within a moment and its duplicates overlap: nobody is told to wait for nothing.
    for round in 0..12 {
        let key = format!("k-{round}");
        let call = || fixture.pay(&key).at("/dead").header("prefer", "wait=30").send();
        let calls: Vec<_> = (0..8).map(|_| tokio::spawn(call())).collect();
        for call in calls {
            let answer = call.await.unwrap();
            assert_eq!(answer.problem(), (502, "UPSTREAM_UNREACHABLE".to_owned()), "{round}: {answer:?}");
        }
    }
}
