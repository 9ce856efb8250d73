//! Several gateways on one database are one.

use std::time::Duration;

use crate::client::Call;
use crate::door::Door;

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_sent_to_three_gateways_are_one_call_and_one_answer() {
    let door = Door::gateway().await;
    let (second, third) = (door.another(), door.another());
    let places = [door.at, second.1, third.1];
    let calls: Vec<_> = (0..60)
        .map(|number| {
            let call = Call::new(places[number % 3], "k").script("sleep=500").header("prefer", "wait=30");
            tokio::spawn(call.send())
        })
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(door.provider.count(), 1);
    assert_eq!(answers.iter().filter(|answer| !answer.replayed()).count(), 1);
    assert!(answers.iter().all(|answer| (answer.status, &answer.body) == (answers[0].status, &answers[0].body)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_slept_past_its_lease_is_refused_and_what_it_says_is_kept() {
    let door = Door::gateway().await;
    let (sleeper, at) = door.another();
    // The first attempt is sent by a gateway that then sleeps longer than its lease.
    let slept = tokio::spawn(Call::new(at, "k").at("/notices").script("wait").send());
    door.provider.acted(1).await;
    rustix::process::kill_process(sleeper.pid(), rustix::process::Signal::STOP).unwrap();
    door.provider.open();
    // With one key for the provider it may be performed again, once the lease is over and the backoff too.
    let mut answer = door.pay("k").at("/notices").send().await;
    for _ in 0..120 {
        if answer.status.as_u16() != 409 {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        answer = door.pay("k").at("/notices").header("prefer", "wait=0").send().await;
    }
    assert_eq!(answer.status.as_u16(), 201, "{answer:?}");
    rustix::process::kill_process(sleeper.pid(), rustix::process::Signal::CONT).unwrap();
    let late = slept.await.unwrap();
    assert_eq!(late.problem().1, "LEASE_SUPERSEDED", "{late:?}");
    assert!(door.pay("k").at("/notices").send().await.replayed());
    assert_eq!(door.provider.count(), 2);
    let keys: Vec<_> = door.provider.calls().iter().map(|call| call.headers["x-provider-key"].clone()).collect();
    assert_eq!(keys[0], keys[1], "one key, by which the provider knows it is one");
    let reference = late.json()["operationRef"].as_str().unwrap().to_owned();
    let timeline = door.api(&format!("/v1/operations/{reference}/timeline")).await.json().to_string();
    assert!(timeline.contains("LATE") || timeline.contains("late"), "what it said is kept: {timeline}");
}
