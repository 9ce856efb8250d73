//! The key at the upstream: one token, different for different operations, sent again until its answer is known.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::client::Answer;
use crate::route_fixture::{RouteFixture, through_both};

through_both!(
    different_keys_and_callers_are_different_tokens_at_the_upstream,
    an_upstream_that_still_works_at_the_key_is_asked_again_until_it_answers,
);

async fn different_keys_and_callers_are_different_tokens_at_the_upstream(fixture: RouteFixture) {
    let long = format!("\"{}\"", "@".repeat(255));
    let longer = format!("\"{}x\"", "@".repeat(254));
    let keys = ["\"x\"", "\" x\"", "\"x \"", "\"x%20\"", "\"x@y\"", "\"x%40y\"", &long, &longer];
    let mut sent = BTreeSet::new();
    for key in keys {
        for user in ["alice", "bob"] {
            let pay = || fixture.pay(key).user(user).at("/notices").send();
            assert_eq!(pay().await.status.as_u16(), 201, "{key}");
            assert!(pay().await.replayed(), "{key}");
            let calls = fixture.provider.calls();
            let token = calls.last().unwrap().headers["x-provider-key"].to_str().unwrap().to_owned();
            assert!((1..=255).contains(&token.len()), "{token}");
            assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~".contains(&byte)), "{token}");
            sent.insert(token);
        }
    }
    assert_eq!((sent.len(), fixture.provider.count()), (2 * keys.len(), 2 * keys.len()), "{sent:?}");
}

/// The same request until it is no longer waiting for its backoff.
async fn after_backoff(fixture: &RouteFixture) -> Answer {
    for _ in 0..240 {
        let answer = fixture.pay("k").at("/drafted").script("draft").send().await;
        if answer.header("content-type") != Some("application/problem+json") {
            return answer;
        }
        assert!(["OPERATION_WAITING", "OUTCOME_UNKNOWN"].contains(&answer.problem().1.as_str()), "{answer:?}");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("never attempted again");
}

async fn an_upstream_that_still_works_at_the_key_is_asked_again_until_it_answers(fixture: RouteFixture) {
    let first = fixture.pay("k").at("/drafted").script("draft").send().await;
    assert_eq!(first.problem(), (504, "OUTCOME_UNKNOWN".to_owned()));
    // The upstream says 409 as long as it is at work: that is not an answer to the operation.
    for _ in 0..2 {
        let running = after_backoff(&fixture).await;
        assert_eq!((running.status.as_u16(), running.replayed()), (409, false), "{running:?}");
        assert_eq!(running.json()["id"], "PAY-0", "the upstream's own answer");
        assert_eq!(running.header("onefold-outcome"), Some("unknown"));
        assert!(running.header("retry-after").is_some() && running.header("onefold-operation").is_some());
    }
    fixture.provider.open();
    for _ in 0..240 {
        let answer = after_backoff(&fixture).await;
        if answer.status.as_u16() == 201 {
            assert_eq!((answer.json()["id"].as_str(), answer.header("onefold-outcome")), (Some("PAY-1"), None));
            assert!(after_backoff(&fixture).await.replayed());
            assert_eq!(fixture.provider.effects(), 1);
            assert!(fixture.incidents().await.is_empty());
            return;
        }
        assert_eq!(answer.status.as_u16(), 409, "{answer:?}");
    }
    panic!("never answered");
}
