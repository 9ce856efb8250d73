//! Many at once, and callers that go away.

use crate::route_fixture::{RouteFixture, through_both};

through_both!(
    sixty_four_duplicates_at_once_are_one_call_and_one_answer,
    those_who_waited_hear_that_nothing_took_hold,
    those_who_waited_hear_that_nobody_knows,
    duplicates_of_what_is_refused_at_once_all_hear_the_refusal,
    a_caller_that_hangs_up_does_not_stop_the_call,
);

async fn sixty_four_duplicates_at_once_are_one_call_and_one_answer(fixture: RouteFixture) {
    let calls: Vec<_> = (0..64)
        .map(|_| tokio::spawn(fixture.pay("k").script("sleep=300").header("prefer", "wait=30").send()))
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(fixture.provider.count(), 1);
    assert_eq!(answers.iter().filter(|answer| !answer.replayed()).count(), 1);
    for answer in &answers {
        assert_eq!((answer.status, &answer.body), (answers[0].status, &answers[0].body), "{answer:?}");
        for kept in ["content-type", "location", "idempotency-expires"] {
            assert!(answer.header(kept).is_some(), "{kept}: {answer:?}");
        }
        assert_eq!(answer.header("location"), answers[0].header("location"));
    }
}

async fn those_who_waited_hear_that_nothing_took_hold(fixture: RouteFixture) {
    let first = tokio::spawn(fixture.pay("k").script("wait, status=429, retry").send());
    fixture.provider.acted(1).await;
    let others: Vec<_> = (0..8).map(|_| tokio::spawn(waiting(&fixture).send())).collect();
    fixture.waited_for_by(8).await;
    fixture.provider.open();
    assert_eq!(first.await.unwrap().status.as_u16(), 429);
    for other in others {
        let answer = other.await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, Some("7")), "{answer:?}");
        assert_eq!((answer.replayed(), answer.header("preference-applied")), (false, Some("wait=30")));
    }
    assert_eq!(fixture.provider.count(), 1, "none of them performed in its place");
    assert_eq!(fixture.pay("k").send().await.status.as_u16(), 201);
}

async fn those_who_waited_hear_that_nobody_knows(fixture: RouteFixture) {
    let first = tokio::spawn(fixture.pay("k").script("wait, status=500").send());
    fixture.provider.acted(1).await;
    let others: Vec<_> = (0..8).map(|_| tokio::spawn(waiting(&fixture).send())).collect();
    fixture.waited_for_by(8).await;
    fixture.provider.open();
    assert_eq!(first.await.unwrap().status.as_u16(), 500);
    for other in others {
        let answer = other.await.unwrap();
        assert_eq!(answer.problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
        // Only who waited is told that its wish was granted.
        assert_eq!(answer.header("preference-applied"), Some("wait=30"));
    }
    assert_eq!(fixture.provider.count(), 1);
}

/// A duplicate that waits as long as it may.
fn waiting(fixture: &RouteFixture) -> crate::client::Call {
    fixture.pay("k").header("prefer", "wait=30")
}

async fn duplicates_of_what_is_refused_at_once_all_hear_the_refusal(fixture: RouteFixture) {
    // However an attempt that ends within a moment and its duplicates overlap: nobody is told to wait for nothing.
    for (path, status) in [("/payments", 429), ("/payments", 403), ("/shown", 429)] {
        for round in 0..12 {
            let key = format!("k-{status}-{round}");
            let script = format!("status={status}");
            let call = || fixture.pay(&key).at(path).script(&script).header("prefer", "wait=30").send();
            let calls: Vec<_> = (0..8).map(|_| tokio::spawn(call())).collect();
            for call in calls {
                let answer = call.await.unwrap();
                assert_eq!(answer.status.as_u16(), status, "{path} {round}: {answer:?}");
            }
        }
    }
}

async fn a_caller_that_hangs_up_does_not_stop_the_call(fixture: RouteFixture) {
    fixture.pay("k").script("wait").abandon(fixture.provider.acted(1)).await;
    fixture.provider.open();
    let answer = fixture.pay("k").header("prefer", "wait=30").send().await;
    assert_eq!((answer.status.as_u16(), answer.replayed()), (201, true), "{answer:?}");
    assert_eq!(fixture.provider.count(), 1);
}
