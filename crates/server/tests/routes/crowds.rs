//! Many at once, and callers that go away.

use std::time::Duration;

use crate::door::{Door, through_both};

through_both!(
    sixty_four_duplicates_at_once_are_one_call_and_one_answer,
    those_who_waited_hear_that_nothing_took_hold,
    those_who_waited_hear_that_nobody_knows,
    a_caller_that_hangs_up_does_not_stop_the_call,
);

async fn sixty_four_duplicates_at_once_are_one_call_and_one_answer(door: Door) {
    let calls: Vec<_> =
        (0..64).map(|_| tokio::spawn(door.pay("k").script("sleep=300").header("prefer", "wait=30").send())).collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(door.provider.count(), 1);
    assert_eq!(answers.iter().filter(|answer| !answer.replayed()).count(), 1);
    for answer in &answers {
        assert_eq!((answer.status, &answer.body), (answers[0].status, &answers[0].body), "{answer:?}");
        for kept in ["content-type", "location", "idempotency-expires"] {
            assert!(answer.header(kept).is_some(), "{kept}: {answer:?}");
        }
        assert_eq!(answer.header("location"), answers[0].header("location"));
    }
}

async fn those_who_waited_hear_that_nothing_took_hold(door: Door) {
    let first = tokio::spawn(door.pay("k").script("wait, status=429, retry").send());
    door.provider.acted(1).await;
    let others: Vec<_> = (0..8).map(|_| tokio::spawn(door.pay("k").send())).collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    door.provider.open();
    assert_eq!(first.await.unwrap().status.as_u16(), 429);
    for other in others {
        let answer = other.await.unwrap();
        // The same answer; or, on a machine so slow that it came after the end, its own attempt.
        assert!([429, 201].contains(&answer.status.as_u16()), "{answer:?}");
        if answer.status.as_u16() == 429 {
            assert_eq!((answer.header("retry-after"), answer.replayed()), (Some("7"), false));
        }
    }
    assert!(door.provider.count() <= 2);
}

async fn those_who_waited_hear_that_nobody_knows(door: Door) {
    let first = tokio::spawn(door.pay("k").script("wait, status=500").send());
    door.provider.acted(1).await;
    let others: Vec<_> = (0..8).map(|_| tokio::spawn(door.pay("k").send())).collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    door.provider.open();
    assert_eq!(first.await.unwrap().status.as_u16(), 500);
    for other in others {
        assert_eq!(other.await.unwrap().problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
    }
    assert_eq!(door.provider.count(), 1);
}

async fn a_caller_that_hangs_up_does_not_stop_the_call(door: Door) {
    door.pay("k").script("wait").abandon(door.provider.acted(1)).await;
    door.provider.open();
    let answer = door.pay("k").header("prefer", "wait=30").send().await;
    assert_eq!((answer.status.as_u16(), answer.replayed()), (201, true), "{answer:?}");
    assert_eq!(door.provider.count(), 1);
}
